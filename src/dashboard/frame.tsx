import type { ComponentChildren, JSX } from 'preact'
import { table, version } from './live.ts'
import {
  chooseLanguage,
  chooseTheme,
  counted,
  type Language,
  language,
  t,
  type Theme,
  theme,
  THEMES,
} from './preferences.ts'
import { hrefOf, PAGES } from './route.ts'
import { route } from './router.ts'
import { Strip } from './strip.tsx'

/** What stands around every page. */
export function Frame({ children }: { children: ComponentChildren }): JSX.Element {
  return (
    <div class="frame">
      <button
        type="button"
        class="skip"
        onClick={() => document.querySelector<HTMLElement>('main h1')?.focus()}
      >
        {t('nav.skip')}
      </button>
      <header class="brand">
        <a href="#/locks" class="mark">
          <Mark />
          <span>holdfast</span>
        </a>
      </header>
      <nav aria-label={t('nav.label')}>
        <ul>
          {PAGES.map((page) => (
            <li key={page}>
              <a href={hrefOf(page)} aria-current={currentOf(page)}>
                {t(`page.${page}`)}
                {page === 'locks' && version.value > 0 && <span class="badge">{counted(table.size)}</span>}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <section class="choices" aria-label={t('choices.label')}>
        <select
          aria-label={t('language.label')}
          value={language.value}
          onChange={(event) => chooseLanguage(event.currentTarget.value as Language)}
        >
          <option value="en" lang="en">
            English
          </option>
          <option value="zh" lang="zh-CN">
            中文
          </option>
        </select>
        <select
          aria-label={t('theme.label')}
          value={theme.value}
          onChange={(event) => chooseTheme(event.currentTarget.value as Theme)}
        >
          {THEMES.map((name) => (
            <option key={name} value={name}>
              {t(`theme.${name}`)}
            </option>
          ))}
        </select>
      </section>
      <Strip />
      <main>{children}</main>
    </div>
  )
}

function currentOf(page: string): 'page' | 'true' | undefined {
  const current = route.value.page
  if (current === page) return 'page'
  return page === 'locks' && current === 'lock' ? 'true' : undefined
}

function Mark(): JSX.Element {
  return (
    <svg viewBox="0 0 24 24" width="22" height="22" aria-hidden="true">
      <rect width="24" height="24" rx="6" class="mark-ground" />
      <g class="mark-lines">
        <circle cx="12" cy="7" r="2.6" />
        <path d="M12 9.6V19M12 13c0 3-2 5-5.5 5M12 13c0 3 2 5 5.5 5" />
      </g>
    </svg>
  )
}

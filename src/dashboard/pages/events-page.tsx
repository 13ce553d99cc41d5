import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { Empty } from '../empty.tsx'
import { shownKey, visible } from '../format.ts'
import { events, type SeenEvent } from '../live.ts'
import { clockTime, counted, plain, t } from '../preferences.ts'
import { hrefOf, type Route } from '../route.ts'
import { setQuery } from '../router.ts'
import { Search } from '../search.tsx'
import { VirtualTable } from '../virtual-table.tsx'

/** What came to pass, as it does. */
export function EventsPage({ query: { q = '', kind = '' } }: { query: Route['query'] }): JSX.Element {
  /** What is shown while it stands still. */
  const paused = useSignal<readonly SeenEvent[] | null>(null)
  const all = paused.value ?? events.value
  const rows = all.filter((event) => (kind === '' || event.name === kind) && contains(event, q))
  const newer = paused.value ? (events.value[0]?.number ?? 0) - (paused.value[0]?.number ?? 0) : 0
  return (
    <div class="page fill">
      <div class="bar-top">
        <h1 tabIndex={-1}>{t('page.events')}</h1>
        <Search
          value={q}
          label={t('events.search')}
          hint={t('locks.searchHint')}
          onInput={(text) => setQuery({ q: text })}
        />
        <KindChoice chosen={kind} all={all} />
        <button
          type="button"
          aria-pressed={paused.value !== null}
          onClick={() => (paused.value = paused.value ? null : events.value)}
        >
          {t(paused.value ? 'events.resume' : 'events.pause')}
        </button>
        {newer > 0 && <span class="count">{t('events.held', { n: counted(newer) })}</span>}
      </div>
      {rows.length > 0 ? (
        <VirtualTable
          class="events"
          label={t('events.table')}
          rows={rows}
          idOf={(event) => event.number}
          head={
            <>
              <th scope="col" class="c-time">
                {t('events.time')}
              </th>
              <th scope="col" class="c-name">
                {t('events.event')}
              </th>
              <th scope="col" class="c-key">
                {t('column.key')}
              </th>
              <th scope="col" class="c-text">
                {t('events.text')}
              </th>
            </>
          }
          cells={(event) => <Cells event={event} />}
        />
      ) : (
        <NoEvents some={all.length > 0} />
      )}
    </div>
  )
}

function contains({ key, text }: SeenEvent, q: string): boolean {
  return q === '' || `${key ?? ''}\n${text}`.toLowerCase().includes(q.toLowerCase())
}

function NoEvents({ some }: { some: boolean }): JSX.Element {
  if (some) return <Empty>{t('events.noMatch')}</Empty>
  return <Empty title={t('events.noneTitle')}>{t('events.none')}</Empty>
}

function KindChoice({ chosen, all }: { chosen: string; all: readonly SeenEvent[] }): JSX.Element {
  const kinds = new Set<string>(all.map(({ name }) => name))
  if (chosen !== '') kinds.add(chosen)
  return (
    <select
      aria-label={t('events.kind')}
      value={chosen}
      onChange={(event) => setQuery({ kind: event.currentTarget.value })}
    >
      <option value="">{t('events.allKinds')}</option>
      {[...kinds].sort().map((kind) => (
        <option key={kind} value={kind}>
          {plain(kind, 40)}
        </option>
      ))}
    </select>
  )
}

const LEVELS: Readonly<Record<string, string>> = {
  lost: 'bad',
  error: 'bad',
  alert: 'bad',
  evicted: 'bad',
  timeout: 'warn',
  conflict: 'warn',
  'renewal-failed': 'warn',
  'term-overrun': 'warn',
  granted: 'good',
  taken: 'good',
  elected: 'good',
}

function Cells({ event: { name, at, key, text } }: { event: SeenEvent }): JSX.Element {
  return (
    <>
      <td class="c-time number">{clockTime(at)}</td>
      <td class="c-name">
        <span class={`tag ${LEVELS[name] ?? ''}`}>{plain(name, 30)}</span>
      </td>
      <td class="c-key">
        {key !== null && (
          <a href={hrefOf('lock', { key })} title={visible(key)}>
            <bdi>{shownKey(key, 80)}</bdi>
          </a>
        )}
      </td>
      <td class="c-text" title={plain(text, 1000)}>
        <bdi>{plain(text)}</bdi>
      </td>
    </>
  )
}

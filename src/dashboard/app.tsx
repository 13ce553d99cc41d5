import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { Frame } from './frame.tsx'
import { ContentionPage } from './pages/contention-page.tsx'
import { EventsPage } from './pages/events-page.tsx'
import { HealthPage } from './pages/health-page.tsx'
import { LockPage } from './pages/lock-page.tsx'
import { LocksPage } from './pages/locks-page.tsx'
import { TimesPage } from './pages/times-page.tsx'
import { plain, t } from './preferences.ts'
import type { PageName, Route } from './route.ts'
import { route } from './router.ts'
import { TokenDialog } from './token-dialog.tsx'

const PAGES: Record<PageName, (query: Route['query']) => JSX.Element> = {
  locks: (query) => <LocksPage query={query} />,
  lock: ({ key = '' }) => <LockPage key={key} name={key} />,
  contention: () => <ContentionPage />,
  times: () => <TimesPage />,
  health: () => <HealthPage />,
  events: (query) => <EventsPage query={query} />,
}

export function App(): JSX.Element {
  const { page, query } = route.value
  const first = useRef(true)
  const title = page === 'lock' ? plain(query.key ?? '', 60) : t(`page.${page}`)
  useEffect(() => {
    document.title = `${title} · holdfast`
  }, [title])
  useEffect(() => {
    // A new page is read out from its heading, as after a usual change of page.
    if (!first.current) document.querySelector<HTMLElement>('main h1')?.focus()
    first.current = false
  }, [page, page === 'lock' ? query.key : ''])
  useEffect(() => {
    addEventListener('keydown', focusSearch)
    return () => removeEventListener('keydown', focusSearch)
  }, [])
  return (
    <>
      <Frame>{PAGES[page](query)}</Frame>
      <TokenDialog />
    </>
  )
}

function focusSearch(event: KeyboardEvent): void {
  if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey) return
  if (event.target instanceof Element && event.target.closest('input, textarea, select, dialog')) return
  event.preventDefault()
  const search = document.querySelector<HTMLInputElement>('input[type=search]')
  if (search) search.select()
  else {
    location.hash = '#/locks'
    requestAnimationFrame(() =>
      setTimeout(() => document.querySelector<HTMLElement>('input[type=search]')?.focus()),
    )
  }
}

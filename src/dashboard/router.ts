import { type Signal, signal } from '@preact/signals'
import { hrefOf, parseRoute, type Route } from './route.ts'
import { takeTokenFromAddress } from './session.ts'

/** Browsers count how often an address changes, and some refuse after a hundred times. */
const ADDRESS_PAUSE_MS = 250

takeTokenFromAddress()
export const route: Signal<Route> = signal(parseRoute(location.hash))
/** How the table was last looked at, for the way back to it. */
export const lastLocks: Signal<Route['query']> = signal({})

let writing: number | undefined

addEventListener('hashchange', () => {
  clearTimeout(writing)
  takeTokenFromAddress()
  show(parseRoute(location.hash))
})
show(route.value)

/** Changes filters of this page: at once here, soon in the address, and without a step in the history. */
export function setQuery(changes: Route['query']): void {
  const { page, query } = route.value
  show({ page, query: { ...query, ...changes } })
  clearTimeout(writing)
  writing = setTimeout(() => {
    history.replaceState(history.state, '', hrefOf(route.value.page, route.value.query))
  }, ADDRESS_PAUSE_MS) as unknown as number
}

function show(next: Route): void {
  route.value = next
  if (next.page === 'locks') lastLocks.value = next.query
}

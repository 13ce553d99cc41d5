export const PAGES = ['locks', 'contention', 'times', 'health', 'events'] as const
export type PageName = (typeof PAGES)[number] | 'lock'

export interface Route {
  readonly page: PageName
  readonly query: Readonly<Record<string, string>>
}

/** `#/locks?q=order&wanted=1`. Anything else is the first page. */
export function parseRoute(hash: string): Route {
  const [path, query] = cutAt(hash.replace(/^#\/?/, ''), '?')
  const page = [...PAGES, 'lock' as const].find((name) => name === path)
  if (!page) return { page: 'locks', query: {} }
  return { page, query: Object.fromEntries(new URLSearchParams(query)) }
}

/** Empty values are left out, so that an address names only what is chosen. */
export function hrefOf(page: PageName, query: Readonly<Record<string, string>> = {}): string {
  const chosen = Object.entries(query).filter(([, value]) => value !== '')
  return `#/${page}${chosen.length > 0 ? `?${new URLSearchParams(chosen).toString()}` : ''}`
}

/** The token of `#token=…`, which `holdfast serve` prints; null if there is none. */
export function tokenIn(hash: string): string | null {
  return /^#\/?token=/.test(hash) ? new URLSearchParams(hash.replace(/^#\/?/, '')).get('token') : null
}

function cutAt(text: string, mark: string): [string, string] {
  const at = text.indexOf(mark)
  return at === -1 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)]
}

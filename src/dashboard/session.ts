import { type Signal, signal } from '@preact/signals'
import { tokenIn } from './route.ts'

const NAME = 'holdfast.token'

/** In this tab alone, and never in an address or on disk. */
export const token: Signal<string | null> = signal(remembered())
/** From an answer of 401 until a token is given: whether one was sent, and so was wrong. */
export const refused: Signal<{ readonly wrong: boolean } | null> = signal(null)

/** Takes the token out of `#token=…` and removes it from the address bar and the history. */
export function takeTokenFromAddress(): void {
  const given = tokenIn(location.hash)
  if (given === null) return
  history.replaceState(null, '', `${location.pathname}${location.search}#/locks`)
  giveToken(given)
}

export function giveToken(given: string): void {
  token.value = given
  refused.value = null
  try {
    sessionStorage.setItem(NAME, given)
  } catch {
    // Forbidden: it lasts as long as the page.
  }
}

function remembered(): string | null {
  try {
    return sessionStorage.getItem(NAME)
  } catch {
    return null
  }
}

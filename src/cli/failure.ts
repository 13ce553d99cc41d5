import { describeError, LockError, onOneLine } from '../errors.ts'
import { isParseError } from './arguments.ts'
import { UsageError } from './command.ts'
import { shown } from './text.ts'

/** As in sysexits.h, so that scripts and service managers know them. */
export const EXIT = {
  no: 1,
  usage: 64,
  unavailable: 69,
  internal: 70,
  config: 78,
  lost: 79,
} as const

/** An error on one line, with what is behind it: a store that "failed" is of no use without it. No stack, no password. */
export function explain(error: unknown): string {
  const parts: string[] = []
  for (let each: unknown = error, depth = 0; each !== undefined && each !== null && depth < 4; depth += 1) {
    const text = describe(each)
    if (text !== '' && !parts.some((part) => part.includes(text))) parts.push(text)
    each = each instanceof Error ? each.cause : undefined
  }
  return shown(withoutSecrets(onOneLine(parts.join(': ')))).slice(0, MOST)
}

/** Of a lock that was lost, and what that means for the command. */
export function explainLoss(reason: unknown, hasStarted: boolean): string {
  const then = hasStarted ? 'the command may not have been alone' : 'the command was not started'
  return `${explain(reason)}; ${then}`
}

const MOST = 2000

/** An error that stands for several, as of a host with two addresses, says nothing itself. */
function describe(error: unknown): string {
  const own = describeError(error)
  if (!(error instanceof AggregateError) || error.message !== '') return own
  return [...new Set(error.errors.map(describeError))].join(', ')
}

/** Of this process, which runs one command. */
const secrets = new Set<string>()

/** The password of this URL, as it stands there and as it is meant, is shown by no message from now on. */
export function hidePassword(url: unknown): void {
  const [, secret] = /^[^/]*\/\/[^/?#]*?:([^/?#]*)@/.exec(String(url)) ?? []
  // To take a shorter one out of every word would show it rather than hide it.
  if (secret === undefined || secret.length < 4) return
  secrets.add(secret)
  try {
    secrets.add(decodeURIComponent(secret))
  } catch {
    // It is not encoded.
  }
}

function withoutSecrets(text: string): string {
  let rest = text
  for (const secret of secrets) rest = rest.replaceAll(secret, '…')
  return rest.replaceAll(/([a-z][a-z0-9+.-]*:\/\/)[^\s/@]*@/gi, '$1…@')
}

/** What is wrong with the configuration or with the store that it names, and not with the arguments. */
const OF_STORE = /^(configuration: |\w+Store: |the \w+ store )/

export function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError || isParseError(error)) return EXIT.usage
  if (!(error instanceof LockError)) return EXIT.internal
  switch (error.code) {
    case 'INVALID_OPTION':
      return OF_STORE.test(error.message) ? EXIT.config : EXIT.usage
    case 'INVALID_LOCK_KEY':
      return EXIT.usage
    case 'STORE_UNAVAILABLE':
      return EXIT.unavailable
    case 'LOCK_ACQUIRE_TIMEOUT':
      return EXIT.no
    case 'LOCK_LOST':
      return EXIT.lost
    case 'LOCK_ABORTED':
    case 'LOCK_NOT_HELD':
    case 'LOCK_RELEASE_FAILED':
    case 'STALE_TOKEN':
    case 'DEADLOCK':
    case 'CLOSED':
      return EXIT.internal
  }
}

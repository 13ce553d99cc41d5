import { LAST_ATTEMPT } from '../hold.ts'

const OF_STORE = /^the (\w+) store ([^:;\n]*)|^\w+Store: |^the lock server failed/

/** Whether the store or its configuration is at fault, and not whoever asks. */
export function isOfStore(message: string): boolean {
  return OF_STORE.test(message)
}

/** What may be said over the network: the words of a driver behind it name hosts, users and files. The log has them. */
export function publicMessage(message: string): string {
  const [own = '', attempt] = message.split(LAST_ATTEMPT, 2)
  if (attempt !== undefined) return `${publicMessage(own)}${LAST_ATTEMPT}${publicMessage(attempt)}`
  const [all, name, what = ''] = OF_STORE.exec(message) ?? []
  if (all === undefined) return message
  if (name !== undefined)
    return `the ${name} store ${what.startsWith('cannot use ') ? 'cannot be used' : what}`
  return all.endsWith(': ') ? 'the store cannot be used as it is configured' : all
}

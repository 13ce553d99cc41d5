import type { MysqlConnection } from '../databases/mysql.ts'
import { LockError } from '../errors.ts'

const SENDING = new Set(['query', 'execute', 'batch', 'queryStream', 'prepare', 'importFile'])
const CONTROLLING: Readonly<Record<string, string>> = {
  beginTransaction: 'BEGIN',
  commit: 'COMMIT',
  rollback: 'ROLLBACK',
  changeUser: 'CHANGE USER',
  reset: 'RESET',
}
const ENDING = new Set(['release', 'end', 'close', 'destroy'])

/** What stands behind a handle. */
interface Control {
  /** `sql` is the text of the statement, as far as it has one. */
  send(send: () => unknown, sql: unknown): unknown
  misuse(word: string): LockError
}

/** A connection for the function of a transaction, which sends statements by it and can neither end it nor give it back. */
export function handleOn(connection: MysqlConnection, control: Control): MysqlConnection {
  return new Proxy(connection, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      if (ENDING.has(String(name))) return refuseToEnd
      const word = Object.hasOwn(CONTROLLING, name) ? CONTROLLING[String(name)] : undefined
      if (word !== undefined) return () => Promise.reject(control.misuse(word))
      if (!SENDING.has(String(name))) return value.bind(target)
      return (...args: unknown[]) => control.send(() => value.apply(target, args), sqlOf(args[0]))
    },
  })
}

/** Of a query: its text, or an object that has one. */
function sqlOf(query: unknown): unknown {
  return typeof query === 'object' && query !== null ? Reflect.get(query, 'sql') : query
}

function refuseToEnd(): never {
  throw new LockError(
    'INVALID_OPTION',
    'transaction: the connection is given back when its function has ended',
  )
}

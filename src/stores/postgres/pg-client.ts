import { isInTransaction, type PgClient, type PgQuery } from '../../databases/pg.ts'
import { type Database, type Ears, LIMIT_MS, type Listening } from './database.ts'
import { insideTransaction, TimedOut } from './failures.ts'
import { within } from './limit.ts'
import type { Row } from './records.ts'
import type { Statement } from './statements.ts'

const ignore = (): void => {}

export function queryOf({ name, text }: Statement, values: readonly (string | null)[]): PgQuery {
  const query: PgQuery = { text, values: [...values], rowMode: 'array' }
  return name === undefined ? query : { name, ...query }
}

/** One client of `pg`, connected by the user and used by nobody else. Once its connection is lost, it stays lost. */
export class PgClientDatabase implements Database {
  readonly #client: PgClient
  #last: Promise<unknown> = Promise.resolve()

  constructor(client: PgClient) {
    this.#client = client
    client.on('error', ignore)
  }

  run(statement: Statement, values: readonly (string | null)[]): Promise<readonly Row[]> {
    return this.#rows(queryOf(statement, values))
  }

  async script(sql: string): Promise<void> {
    await this.#rows({ text: sql })
  }

  async listen(channel: string, ears: Ears): Promise<Listening | null> {
    const { processID } = this.#client as { processID?: number | null }
    const [row] = await this.#rows({ text: 'select pg_backend_pid()::text', rowMode: 'array' })
    // Behind a pooler, see `pg-listening.ts`.
    if (processID && String(row?.[0]) !== String(processID)) return null
    const heard = ((message: { channel: string; payload?: string }) => {
      if (message.channel === channel) ears.heard(message.payload ?? '')
    }) as () => void
    const lost = (): void => ears.lost()
    this.#client.on('notification', heard)
    this.#client.on('end', lost)
    const close = async (): Promise<void> => {
      this.#client.removeListener('notification', heard)
      this.#client.removeListener('end', lost)
      await this.#rows({ text: `unlisten "${channel}"` }).catch(ignore)
    }
    try {
      await this.#rows({ text: `listen "${channel}"` })
      return { close }
    } catch (error) {
      await close()
      throw error
    }
  }

  async close(): Promise<void> {
    this.#client.removeListener('error', ignore)
  }

  /** One after the other: `pg` will refuse a query that comes while another is under way. */
  async #rows(query: PgQuery): Promise<readonly Row[]> {
    let over = false
    const turn = this.#last.then(() => {
      // Whoever asked has been told that there was no answer.
      if (over) throw new TimedOut('given up before it was sent')
      this.#refuseInside()
      return this.#client.query(query)
    })
    this.#last = turn.catch(ignore)
    const message = (): string => {
      over = true
      return `no answer came within ${LIMIT_MS} ms: the server does not answer, or the client was never connected`
    }
    const { rows } = await within(turn, message)
    this.#refuseInside()
    return rows as Row[]
  }

  #refuseInside(): void {
    if (isInTransaction(this.#client)) throw insideTransaction()
  }
}

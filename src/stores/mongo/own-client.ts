import { within } from '../../databases/limit.ts'
import type { MongoClient, MongoDb } from '../../databases/mongo.ts'
import { LockError } from '../../errors.ts'
import { LIMIT_MS, type Source } from './database.ts'
import { closedError } from './failures.ts'

/** Steps are batched: more connections would mostly wait for the same disk. */
const MAX_CONNECTIONS = 10
const HEARTBEAT_MS = 2000
/** The driver says more about what is in the way than we could. */
const CONNECT_MS = LIMIT_MS - 500

/** How long the client may say goodbye to servers, for which it may have to connect first, several times. */
const FAREWELL_MS = 500

interface OwnClient extends MongoClient {
  connect(): Promise<unknown>
  close(): Promise<void>
  /** What the driver keeps to itself: its connections and monitors, which end at once. */
  readonly topology?: { close?(): void } | undefined
}

/** A client for a URL, made on first use and closed with the store. What the URL says itself goes first. */
export class OwnSource implements Source {
  readonly #url: string
  readonly #database: string
  #client: Promise<OwnClient> | undefined
  #connected: Promise<unknown> | undefined
  #closed = false

  constructor(url: string, database: string) {
    this.#url = url
    this.#database = database
  }

  async db(): Promise<MongoDb> {
    if (this.#closed) throw closedError()
    const client = await (this.#client ??= this.#open())
    await (this.#connected ??= this.#connect(client))
    return client.db(this.#database)
  }

  async close(): Promise<void> {
    this.#closed = true
    const client = await this.#client?.catch(() => undefined)
    if (!client) return
    await within(client.close(), FAREWELL_MS, closedError).catch(() => client.topology?.close?.())
  }

  async #open(): Promise<OwnClient> {
    try {
      return await open(this.#url)
    } catch (error) {
      // A driver that is missing now may be there the next time.
      this.#client = undefined
      throw error
    }
  }

  /** A client that could not connect does not try again by itself. Later, it does. */
  async #connect(client: OwnClient): Promise<void> {
    try {
      await client.connect()
    } catch (error) {
      this.#connected = undefined
      throw error
    }
  }
}

async function open(url: string): Promise<OwnClient> {
  const { MongoClient: Client } = await load()
  const given = /\?(.*)$/s.exec(url)?.[1]?.toLowerCase() ?? ''
  const defaults = Object.entries({
    appName: 'holdfast',
    maxPoolSize: MAX_CONNECTIONS,
    connectTimeoutMS: CONNECT_MS,
    serverSelectionTimeoutMS: CONNECT_MS,
    // Connections that died in silence are found out after this and the limit to connect, and all are replaced.
    heartbeatFrequencyMS: HEARTBEAT_MS,
  })
  const missing = defaults.filter(([name]) => !given.includes(`${name.toLowerCase()}=`))
  try {
    return new Client(url, Object.fromEntries(missing))
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new LockError('INVALID_OPTION', `mongoStore: the driver refuses the URL: ${why}`, { cause: error })
  }
}

async function load(): Promise<{ MongoClient: new (url: string, options: object) => OwnClient }> {
  try {
    return await import('mongodb')
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new LockError(
      'INVALID_OPTION',
      'mongoStore: the MongoDB driver cannot be loaded; run `npm install mongodb`, or pass a client of your own',
      { cause: error },
    )
  }
}

import { installed } from '../../databases/installed.ts'
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
/** For servers that are far away, or have too much to do. */
const LONGEST_CONNECT_MS = 8000

/** How long the client may say goodbye to servers, for which it may have to connect first, several times. */
const FAREWELL_MS = 500

interface OwnClient extends MongoClient {
  connect(): Promise<unknown>
  close(): Promise<void>
  /** What the driver keeps to itself: its connections and monitors, which end at once. */
  readonly topology?: { close?(): void } | undefined
}

interface MongoModule {
  readonly MongoClient: new (url: string, options: object) => OwnClient
}

/** A client for a URL, made on first use and closed with the store. What the URL says itself goes first. */
export class OwnSource implements Source {
  readonly #url: string
  readonly #database: string
  #client: OwnClient | undefined
  #connected: Promise<OwnClient> | undefined
  /** Of the last attempt that failed. */
  #ending: Promise<void> | undefined
  /** What the next attempt has: twice as much as one that was still on its way when its time was up. */
  #connectMs = CONNECT_MS
  /** Why the last attempt failed, while there was no other. */
  #failure: Error | undefined
  #closed = false

  constructor(url: string, database: string) {
    this.#url = url
    this.#database = database
  }

  async db(): Promise<MongoDb> {
    if (this.#closed) throw closedError()
    const connected = (this.#connected ??= this.#connect())
    const failure = this.#failure
    // An attempt may take longer than a call. Whoever is told so is told why the one before failed.
    const client = await (failure ? within(connected, CONNECT_MS, () => failure) : connected)
    return client.db(this.#database)
  }

  async close(): Promise<void> {
    this.#closed = true
    if (this.#client) await end(this.#client)
    await this.#ending
  }

  /** Each time by a client of its own: its limits are fixed, and one that failed does not try again by itself. */
  async #connect(): Promise<OwnClient> {
    try {
      const client = await open(this.#url, this.#connectMs)
      this.#client = client
      if (this.#closed) throw closedError()
      await client.connect()
      // The driver itself does not look again.
      if (this.#closed) throw closedError()
      this.#failure = undefined
      return client
    } catch (error) {
      this.#failure = error as Error
      if (isLate(error)) this.#connectMs = Math.min(2 * this.#connectMs, LONGEST_CONNECT_MS)
      if (this.#client) this.#ending = end(this.#client)
      // Nobody may wait for it any more.
      this.#client = undefined
      this.#connected = undefined
      throw error
    }
  }
}

/**
 * Whether a server might have answered with more time. The limit stays with the client that is made next, and for as
 * long one goes without word of servers that fell silent: where they refuse, it must not grow.
 */
function isLate(error: unknown): boolean {
  const { servers } = (error as { reason?: { servers?: ReadonlyMap<string, Seen> } }).reason ?? {}
  return [...(servers?.values() ?? [])].some((seen) => !seen.error || /timed out/.test(seen.error.message))
}

interface Seen {
  readonly error?: Error | null
}

async function end(client: OwnClient): Promise<void> {
  await within(client.close(), FAREWELL_MS, closedError).catch(() => client.topology?.close?.())
}

async function open(url: string, connectMs: number): Promise<OwnClient> {
  const { MongoClient: Client }: MongoModule = await installed(
    () => import('mongodb'),
    'mongoStore: the MongoDB driver cannot be loaded; run `npm install mongodb`, or pass a client of your own',
  )
  const given = /\?(.*)$/s.exec(url)?.[1]?.toLowerCase() ?? ''
  const defaults = Object.entries({
    appName: 'holdfast',
    maxPoolSize: MAX_CONNECTIONS,
    connectTimeoutMS: connectMs,
    serverSelectionTimeoutMS: connectMs,
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

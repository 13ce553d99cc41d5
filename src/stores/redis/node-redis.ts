import {
  keyPrefixOf,
  type NodeRedis,
  type NodeRedisConnectable,
  type NodeRedisPool,
} from '../../databases/node-redis.ts'
import type {
  ChannelEars,
  Listening,
  RedisClient,
  Scanner,
  ScriptCall,
  Waited,
  WaitingCall,
} from './client.ts'
import { Deadline } from './deadline.ts'
import { Presence } from './node-redis-presence.ts'
import { nodeRedisSubscriber } from './node-redis-subscriber.ts'
import { type Place, Subscriptions } from './subscriptions.ts'

/** Texts, numbers and null, whatever the user has set. */
export const PLAIN: object = { typeMapping: {} }

/** Has `work` done on one connection. */
export type Lend = <T>(work: (client: NodeRedis) => Promise<T>) => Promise<T>

/** What `createClient` or `createClientPool` of node-redis gave, to the user or to us. */
export class NodeRedisClient implements RedisClient {
  readonly cluster = false
  readonly keyPrefix: string
  readonly #lend: Lend
  readonly #end: (() => Promise<void>) | undefined
  readonly #presence: Presence
  /** The store has one at a time. */
  #listening: Subscriptions | undefined

  /** `end` closes the client if it is ours. */
  constructor(client: NodeRedis | NodeRedisPool, end?: () => Promise<void>)
  constructor(client: NodeRedisConnectable, end: (() => Promise<void>) | undefined, lend: Lend)
  constructor(client: NodeRedisConnectable, end?: () => Promise<void>, lend: Lend = lenderOf(client)) {
    this.#lend = lend
    this.#end = end
    this.#presence = new Presence(client)
    this.keyPrefix = keyPrefixOf(client)
  }

  evalSha(...call: ScriptCall): Promise<unknown> {
    return this.#send(evaluation('EVALSHA', call, this.keyPrefix), call[3])
  }

  eval(...call: ScriptCall): Promise<unknown> {
    return this.#send(evaluation('EVAL', call, this.keyPrefix), call[3])
  }

  evalShaAndWait(...[sha, keys, args, replicas, limitMs, deadline]: WaitingCall): Promise<Waited> {
    const command = evaluation('EVALSHA', [sha, keys, args], this.keyPrefix)
    return this.#lendBy((client) => sendAndWait(client, command, replicas, limitMs), deadline)
  }

  async scanners(): Promise<readonly Scanner[]> {
    const { name } = this
    return [{ name, scan: async (...page) => scanned(await this.#send(scanning(...page))) }]
  }

  listen(ears: ChannelEars): Listening {
    return (this.#listening = new Subscriptions({ find: async () => this.#place() }, ears))
  }

  async close(): Promise<void> {
    void this.#listening?.close()
    await this.#end?.()
    this.#presence.end()
  }

  /** Of the server that has the keys now. */
  protected get name(): string {
    return 'server'
  }

  /** What is listened to is elsewhere now. */
  protected moved(): void {
    this.#listening?.reopen()
  }

  async #place(): Promise<() => Place> {
    // Of a client that its owner has closed, no copy is made.
    this.#presence.check()
    const client = await this.#lend(async (one) => one)
    const { name } = this
    return () => ({ name, open: (events) => nodeRedisSubscriber(client, false, events) })
  }

  #send(command: string[], deadline?: Deadline): Promise<unknown> {
    return this.#lendBy((client) => client.sendCommand(command, PLAIN), deadline)
  }

  /** There may be no connection for long, and `work` may be done again later. */
  async #lendBy<T>(work: (client: NodeRedis) => Promise<T>, deadline: Deadline = new Deadline()): Promise<T> {
    this.#presence.check()
    // A pool would lose the connection if this threw at once.
    return this.#lend(async (client) => {
      deadline.check()
      return work(client)
    })
  }
}

function lenderOf(client: object): Lend {
  const pool = client as NodeRedisPool
  return typeof pool.execute === 'function'
    ? (work) => pool.execute(work)
    : (work) => work(client as NodeRedis)
}

export function evaluation(
  name: 'EVAL' | 'EVALSHA',
  [script, keys, args]: ScriptCall,
  prefix: string,
): string[] {
  const prefixed = prefix === '' ? keys : keys.map((key) => prefix + key)
  return [name, script, String(keys.length), ...prefixed, ...args]
}

/** In one tick, and so on one connection: WAIT speaks of what was written on its own. */
export async function sendAndWait(
  client: NodeRedis,
  command: string[],
  replicas: number,
  limitMs: number,
): Promise<Waited> {
  const sent = client.sendCommand(command, PLAIN)
  const waited = client.sendCommand(['WAIT', String(replicas), String(limitMs)], PLAIN)
  const [reply, seen] = await Promise.all([sent, waited])
  return [reply, Number(seen)]
}

export function scanning(cursor: string, match: string, count: number): string[] {
  return ['SCAN', cursor, 'MATCH', match, 'COUNT', String(count)]
}

export function scanned(reply: unknown): { readonly cursor: string; readonly names: string[] } {
  const [cursor, names] = reply as [string, string[]]
  return { cursor, names }
}

import { has } from './methods.ts'

type Listener = (...args: unknown[]) => void

interface Emitter {
  on(event: string, listener: Listener): unknown
  removeListener(event: string, listener: Listener): unknown
  eventNames(): readonly unknown[]
  listenerCount(event: string): number
}

/** What all clients of node-redis have in common, of what holdfast needs. */
export interface NodeRedisConnectable extends Emitter {
  /** From `connect()` until it is closed or gives up; whether it is connected right now is another matter. */
  readonly isOpen: boolean
}

/** The part of what `createClient` gives that holdfast needs: one connection to one server. */
export interface NodeRedis extends NodeRedisConnectable {
  readonly isReady: boolean
  readonly options?: { readonly socket?: object | undefined } | undefined
  sendCommand(args: readonly string[], options?: object): Promise<unknown>
  duplicate(overrides: object): OwnNodeRedis
}

/** A client of our own: not yet connected, and ours to end. */
export interface OwnNodeRedis extends NodeRedis {
  connect(): Promise<unknown>
  /** Throws in version 5 if it is not open. */
  destroy(): void
  unref(): void
  subscribe(channel: string, listener: Hear): Promise<unknown>
  unsubscribe(channel: string, listener: Hear): Promise<unknown>
  sSubscribe(channel: string, listener: Hear): Promise<unknown>
  sUnsubscribe(channel: string, listener: Hear): Promise<unknown>
}

export type Hear = (message: string, channel: string) => void

/** The part of what `createClientPool` gives that holdfast needs. */
export interface NodeRedisPool extends NodeRedisConnectable {
  execute<T>(work: (client: NodeRedis) => Promise<T>): Promise<T>
}

/** The part of what `createSentinel` gives that holdfast needs. */
export interface NodeRedisSentinel extends NodeRedisConnectable {
  getMasterNode(): { readonly host: string; readonly port: number } | undefined
}

export interface NodeRedisNode {
  readonly address: string
  /** Absent until it is needed, with `minimizeConnections`. */
  readonly client?: NodeRedis | undefined
}

/** The part of what `createCluster` gives that holdfast needs. */
export interface NodeRedisCluster extends NodeRedisConnectable {
  readonly slots: readonly ({ readonly master: NodeRedisNode } | undefined)[]
  readonly masters: readonly NodeRedisNode[]
  readonly nodeByAddress: ReadonlyMap<string, NodeRedisNode>
  nodeClient(node: never): Promise<NodeRedis>
  sendCommand(
    firstKey: string | undefined,
    isReadonly: boolean | undefined,
    args: string[],
    options?: object,
  ): Promise<unknown>
}

/** What 5 and 6 have, and mark as internal. Where it is missing, what it is for does without. */
interface Internals {
  readonly _keyPrefix?: string | Uint8Array | undefined
  readonly _execute: (isReadonly: boolean, work: (client: NodeRedis) => Promise<unknown>) => Promise<unknown>
  readonly _slots?: { rediscover?(startWith: NodeRedis): Promise<unknown> }
}

/** Since 6: what the client's own commands put before every key. `sendCommand` does not. */
export function keyPrefixOf(client: NodeRedisConnectable): string {
  const { _keyPrefix: prefix = '' } = client as NodeRedisConnectable & Internals
  return typeof prefix === 'string' ? prefix : Buffer.from(prefix).toString()
}

/**
 * Lends a connection to the master, and does all of `work` again if there is another master by then. The public `use`
 * would repeat each command by itself, and gives no way to one more connection.
 */
export function lendMaster<T>(
  sentinel: NodeRedisSentinel,
  work: (client: NodeRedis) => Promise<T>,
): Promise<T> {
  const { _execute: execute } = sentinel as NodeRedisSentinel & Internals
  return execute.call(sentinel, false, work) as Promise<T>
}

/** Has the cluster client ask `living` who has which slots. */
export async function rediscover(cluster: NodeRedisCluster, living: NodeRedis): Promise<void> {
  const { _slots: slots } = cluster as NodeRedisCluster & Internals
  await slots?.rediscover?.(living)
}

export function isNodeRedisClient(value: unknown): value is NodeRedis {
  return (
    isConnectable(value, 'sendCommand', 'duplicate') &&
    !isNodeRedisPool(value) &&
    !isNodeRedisCluster(value) &&
    !isNodeRedisSentinel(value)
  )
}

export function isNodeRedisPool(value: unknown): value is NodeRedisPool {
  return isConnectable(value, 'sendCommand', 'execute')
}

export function isNodeRedisCluster(value: unknown): value is NodeRedisCluster {
  return isConnectable(value, 'sendCommand', 'nodeClient')
}

export function isNodeRedisSentinel(value: unknown): value is NodeRedisSentinel {
  return isConnectable(value, 'sendCommand', 'getMasterNode', '_execute')
}

function isConnectable(value: unknown, ...methods: readonly string[]): boolean {
  return (
    has(value, 'connect', 'on', ...methods) && typeof Reflect.get(value as object, 'isOpen') === 'boolean'
  )
}

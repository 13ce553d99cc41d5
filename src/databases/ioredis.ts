import { has } from './methods.ts'

/** Commands that are sent together, in order, on one connection. */
export interface IoredisPipeline {
  asking(): unknown
  evalsha(sha: string, keyCount: number, ...keysAndArgs: string[]): unknown
  wait(replicas: number, limitMs: number): unknown
  exec(): Promise<[error: Error | null, result: unknown][] | null>
}

/** What `Redis` and `Cluster` of ioredis have in common, of what holdfast needs. */
export interface IoredisCommander {
  /** `wait` until the first command if it connects lazily, `end` once it is closed for good. */
  readonly status: string
  readonly options: { readonly keyPrefix?: string | undefined }
  connect(): Promise<unknown>
  pipeline(): IoredisPipeline
  /** A function that sends one command at once, whatever is set; `this` must be the client. */
  createBuiltinCommand(name: string): { readonly string: unknown }
  on(event: string, listener: (...args: unknown[]) => void): unknown
  removeListener(event: string, listener: (...args: unknown[]) => void): unknown
}

/** The part of a `Redis` of ioredis that holdfast needs: one server, or the master that Sentinel names. */
export interface Ioredis extends IoredisCommander {
  readonly options: {
    readonly keyPrefix?: string | undefined
    readonly host?: string | undefined
    readonly port?: number | undefined
    readonly sentinels?: readonly unknown[] | null | undefined
  }
  readonly stream: { unref?(): unknown; destroy(): unknown } | undefined
  scan(
    cursor: string,
    patternToken: 'MATCH',
    pattern: string,
    countToken: 'COUNT',
    count: number,
  ): Promise<[cursor: string, names: string[]]>
  duplicate(override: object): Ioredis
  subscribe(channel: string): Promise<unknown>
  unsubscribe(channel: string): Promise<unknown>
  ssubscribe(channel: string): Promise<unknown>
  sunsubscribe(channel: string): Promise<unknown>
  ping(): Promise<unknown>
  /** With true it connects again, as its options say. */
  disconnect(reconnect?: boolean): void
}

/** The part of a `Cluster` of ioredis that holdfast needs. */
export interface IoredisCluster extends IoredisCommander {
  /** By slot: the addresses of its master and of the replicas, as of the last refresh. */
  readonly slots: readonly (readonly string[])[]
  nodes(role: 'master' | 'all'): Ioredis[]
  refreshSlotsCache(done: (error?: Error | null) => void): void
}

/** Also true of Valkey's fork, `iovalkey`. */
export function isIoredis(value: unknown): value is Ioredis {
  return isCommander(value) && !has(value, 'nodes')
}

export function isIoredisCluster(value: unknown): value is IoredisCluster {
  return isCommander(value) && has(value, 'nodes', 'refreshSlotsCache')
}

function isCommander(value: unknown): boolean {
  return has(value, 'evalsha', 'pipeline', 'duplicate', 'createBuiltinCommand', 'on')
}

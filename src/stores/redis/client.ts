import type { Deadline } from './deadline.ts'

/** A Lua script, and what the server knows it by. */
export interface Script {
  readonly text: string
  /** SHA-1 of the text, in hex. */
  readonly sha: string
}

/** By its digest or in full, as the name of the method says. `deadline`: until when it may be sent. */
export type ScriptCall = [
  script: string,
  keys: readonly string[],
  args: readonly string[],
  deadline?: Deadline,
]
/** For how many replicas to wait, and how long. */
export type WaitingCall = [
  script: string,
  keys: readonly string[],
  args: readonly string[],
  replicas: number,
  limitMs: number,
  deadline?: Deadline,
]
export type Waited = readonly [reply: unknown, replicas: number]

/**
 * All that the store needs of a client, be it for one node, for Sentinel or for Cluster. Failures are those of the
 * client, as they are. A call need not end in time: core bounds every one, and can use an answer that comes late.
 */
export interface RedisClient {
  /** Whether the keys of one call must be in one slot, and messages go by slot too. */
  readonly cluster: boolean

  /** What the client itself puts before the name of every key; '' if nothing. Not before channels and patterns. */
  readonly keyPrefix: string

  evalSha(...call: ScriptCall): Promise<unknown>
  eval(...call: ScriptCall): Promise<unknown>

  /**
   * EVALSHA and then WAIT on the same connection, sent together: the reply, and how many replicas have all that was
   * written until then. Fails if either does.
   */
  evalShaAndWait(...call: WaitingCall): Promise<Waited>

  /** The nodes that have keys: the masters of a cluster, in a fixed order, or the one there is. */
  scanners(): Promise<readonly Scanner[]>

  /** One more connection, which only listens. On a cluster as many as there are masters with channels to listen to. */
  listen(ears: ChannelEars): Listening

  /**
   * On a cluster: the node that has this record seems to be silent. Another may have its slots by now, which nobody would
   * tell otherwise.
   */
  suspect?(record: string): void

  /** Ends what was opened here; never the user's client. */
  close(): Promise<void>
}

export interface Scanner {
  /** The same for as long as the node has the same slots, such as its address. */
  readonly name: string
  scan(
    cursor: string,
    match: string,
    count: number,
  ): Promise<{ readonly cursor: string; readonly names: string[] }>
}

/** Who is told. Never from inside `add`. */
export interface ChannelEars {
  /** A message on a channel that was added. */
  heard(channel: string, message: string): void
  /** From now on messages on this channel arrive: after `add`, and after each reconnect. */
  up(channel: string): void
  /** From now on they may be missed: the connection was lost, or the slot moved. `up` follows when it is mended. */
  down(channel: string): void
}

/** Channels by their full name. SUBSCRIBE, or SSUBSCRIBE on a cluster. Mends itself, with back-off. */
export interface Listening {
  add(channel: string): void
  delete(channel: string): void
  close(): Promise<void>
}

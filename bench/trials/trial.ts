import type { Contender, Kind, Name } from './contenders.ts'
import type { Access, Library } from './library.ts'

/** One program that is put to several libraries. `play` runs in a process of its own, the rest does not. */
export interface Trial {
  readonly id: string
  readonly title: string
  /** What was done, for people. */
  readonly done: string
  /** What a user would want of it. */
  readonly wish: string
  readonly contenders: readonly Name[]
  /** Those to whom it was not put, and why. */
  readonly absent?: string
  readonly runs: number
  /** A process that takes longer is ended. */
  readonly limitMs: number
  /** Else the kind that the library needs, and one of it. */
  readonly kind?: Kind
  readonly servers?: number
  /** `scene.open` goes through a proxy that the stage can disturb. */
  readonly proxied?: boolean
  /** How many libraries at a time. Fewer where it is about cost. */
  readonly lanes?: number
  /** The process is left to end by itself, and `Play.lingeredMs` says when it did. */
  readonly lingers?: boolean
  play(scene: Scene): Promise<Facts>
  /** A few words of what was seen, from runs that all came to their end. */
  tell(plays: readonly Play[]): string
}

export type Facts = Readonly<Record<string, number | string | boolean | null>>

export interface Play {
  readonly facts: Facts
  /** From the facts to the end of the process. */
  readonly lingeredMs: number
}

/** What a play has around it. */
export interface Scene {
  readonly contender: Contender
  /** New in each play. */
  readonly key: string
  readonly stage: Stage
  /** Of each server, past the proxy. */
  readonly urls: readonly string[]
  /** A new client of the library; through the proxy, if there is one. */
  readonly open: (more?: Partial<Access>) => Promise<Library>
  /** Another, straight to the server. */
  readonly openBeside: () => Promise<Library>
}

/** What the parent does to the server and to the network. */
export interface Stage {
  /** The server stands still. */
  pause(): Promise<void>
  resume(): Promise<void>
  /** The server ends the connections of all its clients. */
  terminate(): Promise<void>
  /** The server forgets all its data. */
  flush(): Promise<void>
  /** How many commands the server has processed. */
  commands(): Promise<number>
  /** Bytes that the server has in use. */
  memory(): Promise<number>
  /** What there is on the server: keys, rows, documents; and for how long, where it says so (else 0: for ever). */
  left(): Promise<{ count: number; longestMs: number }>
  /** Of the proxy. */
  freeze(): Promise<void>
  dropReplies(): Promise<void>
  thaw(): Promise<void>
  cut(): Promise<void>
  delay(ms: number): Promise<void>
}

export const ON_REDIS: readonly Name[] = [
  'holdfast',
  'redlock',
  'sesamecare',
  'redlock-universal',
  'redis-semaphore',
  'redisson',
  'verrou',
  'simple-redis-mutex',
]

/** Those that have leases of any length, on each server. */
export const ON_SERVERS: readonly Name[] = [
  ...ON_REDIS,
  'holdfast-postgres',
  'verrou-postgres',
  'holdfast-mongo',
  'mongo-dlock',
]

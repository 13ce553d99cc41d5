import type { Alert } from '../alerts/alert.ts'
import type { LockEvent } from '../events.ts'
import type { LockStats } from '../monitor/stats.ts'

/** What the HTTP API sends, and the dashboard reads. Types only: the dashboard runs in a browser. */

/** `GET /api/locks`. With a filter a page may have fewer than `limit`, or none, and not be the last. */
export interface LockPageJson {
  readonly locks: readonly LockJson[]
  /** Give as `after` for the next page; null on the last. */
  readonly next: string | null
}

export interface LockJson {
  readonly key: string
  readonly grant: number
  /** The first token of the grant; hand-offs inside the holder's process raise it, and the store is not told. */
  readonly token: string
  readonly service: string
  readonly instance: string
  readonly context: string | null
  /** Milliseconds since 1970 on the store's clock. */
  readonly since: number
  readonly heldMs: number
  readonly leaseMs: number
  readonly remainingMs: number
  readonly wanted: boolean
}

/** `GET /api/locks/{key}`. Also `/api/locks?key=…`, for GET and DELETE: `.` and `..` cannot stand in a path. */
export interface LockDetailJson {
  readonly key: string
  /** Null if nobody holds it now. */
  readonly lock: LockJson | null
  /** As far as this server has seen them, newest first. */
  readonly history: readonly TurnJson[]
}

/** One holder's time with a key, as seen from outside: a turn between two looks is not seen. */
export interface TurnJson {
  readonly grant: number
  readonly service: string
  readonly instance: string
  readonly context: string | null
  readonly since: number
  readonly heldMs: number
  readonly end: 'held' | 'gone' | 'forced'
}

/** `DELETE /api/locks/{key}?grant=…&why=…` */
export interface ReleasedJson {
  readonly released: LockJson
}

/** `GET /api/stats` */
export interface StatsJson {
  /** Of the client that the server was made for, or of a fleet. A number that JSON cannot carry is null. */
  readonly stats: LockStats
  readonly fleet: boolean
  readonly client: { readonly store: string; readonly service: string; readonly instance: string }
  readonly store: { readonly ok: boolean; readonly latencyMs: number | null; readonly error: string | null }
  readonly alerts: readonly Alert[]
  readonly server: {
    readonly version: string
    readonly upMs: number
    /** Whether this request may free keys: neither read-only nor without a token. */
    readonly mayRelease: boolean
    readonly readOnly: boolean
    /** Why keys of the store are missing in `/api/events`; null if none are. */
    readonly limited: string | null
  }
}

/** `GET /api/events`: server-sent events. Resume from the last id; those that are sent to one reader only have none. */
export interface StreamJson {
  /** First on every stream that does not resume: what is held follows as `locks`. */
  readonly hello: { readonly version: string }
  /**
   * What has changed since the message before. The first has `all: true`: what was known before it is void. If much is
   * held, the rest of it comes in messages after that.
   */
  readonly locks: {
    readonly all: boolean
    /** New ones, and those that have changed. Their context is cut to 256 characters. */
    readonly held: readonly LockJson[]
    readonly freed: readonly { readonly key: string; readonly grant: number }[]
    /** Key, and what is left of its lease. */
    readonly renewed: readonly (readonly [key: string, remainingMs: number])[]
  }
  /** What `locks.on` reports in the server's own process, and what was seen in the store. */
  readonly event: EventJson
  /** The store did not answer, or does again. */
  readonly store: { readonly ok: boolean; readonly error: string | null }
}

export interface EventJson {
  readonly name: LockEvent | 'taken' | 'freed'
  /** Milliseconds since 1970 on the server's clock, for people. */
  readonly at: number
  readonly key: string | null
  readonly text: string
}

/** Every answer that is not 2xx: `application/problem+json` as of RFC 9457. */
export interface ProblemJson {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  /** A code of LockError, or one of the server's own. */
  readonly code: string
}

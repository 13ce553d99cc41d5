import type { Locks } from '../locks.ts'
import type { Visitor } from './gate.ts'
import type { Assets } from './assets.ts'
import type { Audit } from './audit.ts'
import type { Feed } from './feed.ts'
import type { Observer } from './observer.ts'
import type { ServerTerms } from './options.ts'
import type { StoreHealth } from './store-health.ts'

/** What the routes work with. */
export interface Parts {
  readonly locks: Locks
  readonly terms: ServerTerms
  readonly feed: Feed
  readonly observer: Observer
  readonly health: StoreHealth
  readonly audit: Audit
  readonly assets: Assets
  readonly version: string
  /** On the clock of the environment. */
  readonly startedAt: number
}

/** One request that was let in. */
export interface Visit {
  readonly request: Request
  readonly url: URL
  readonly visitor: Visitor
}

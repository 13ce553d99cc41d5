import type { Access } from './gate.ts'
import { listLocks, releaseLock, showLock } from './lock-routes.ts'
import {
  followEvents,
  showAsset,
  showDashboard,
  showLive,
  showMetrics,
  showOpenApi,
  showReady,
  showStats,
} from './other-routes.ts'
import type { Parts, Visit } from './parts.ts'

export interface Route {
  readonly method: 'GET' | 'DELETE'
  /** As Hono has it. */
  readonly path: string
  readonly access: Access
  readonly handle: (parts: Parts, visit: Visit) => Response | Promise<Response>
}

export const ROUTES: readonly Route[] = [
  { method: 'GET', path: '/api/locks', access: 'read', handle: listLocks },
  { method: 'DELETE', path: '/api/locks', access: 'write', handle: releaseLock },
  // With slashes too: some proxies decode them on the way.
  { method: 'GET', path: '/api/locks/:key{.+}', access: 'read', handle: showLock },
  { method: 'DELETE', path: '/api/locks/:key{.+}', access: 'write', handle: releaseLock },
  { method: 'GET', path: '/api/stats', access: 'read', handle: showStats },
  { method: 'GET', path: '/api/events', access: 'read', handle: followEvents },
  { method: 'GET', path: '/metrics', access: 'read', handle: showMetrics },
  { method: 'GET', path: '/health/live', access: 'anyone', handle: showLive },
  { method: 'GET', path: '/health/ready', access: 'anyone', handle: showReady },
  { method: 'GET', path: '/openapi.json', access: 'page', handle: showOpenApi },
  { method: 'GET', path: '/', access: 'page', handle: showDashboard },
  { method: 'GET', path: '/assets/:name', access: 'page', handle: showAsset },
]

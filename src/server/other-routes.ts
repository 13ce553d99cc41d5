import { alertsOf } from '../alerts/index.ts'
import { within } from '../databases/limit.ts'
import type { Environment } from '../environment.ts'
import type { LockStats } from '../monitor/stats.ts'
import { metricsText, METRICS_TYPE } from './metrics.ts'
import type { ServerTerms } from './options.ts'
import type { Parts, Visit } from './parts.ts'
import { Problem } from './problem.ts'
import { publicMessage } from './public-message.ts'
import { noQuery } from './query.ts'
import type { StatsJson } from './wire.ts'

const MOST_STREAMS = 1000
const FLEET_MS = 5000

/** `GET /api/stats` */
export async function showStats(parts: Parts, { url, visitor }: Visit): Promise<Response> {
  noQuery(url)
  const { locks, terms, observer, version, startedAt } = parts
  const { ok, latencyMs, error } = await parts.health.ask()
  const body: StatsJson = {
    stats: terms.stats ? await fleetStats(terms.stats, terms.env) : locks.stats(),
    fleet: terms.stats !== null,
    client: locks.identity,
    store: { ok, latencyMs, error: error && publicMessage(error.message) },
    alerts: alertsOf(locks),
    server: {
      version,
      upMs: Math.round(terms.env.now() - startedAt),
      mayRelease: visitor.mayRelease,
      readOnly: terms.readOnly,
      limited: observer.limited,
    },
  }
  return Response.json(body)
}

// Foreign code, and a fleet is far away: it must not keep anyone waiting for ever.
function fleetStats(stats: NonNullable<ServerTerms['stats']>, env: Environment): Promise<LockStats> {
  const failure = (): Problem =>
    new Problem('FLEET_UNAVAILABLE', 'the numbers of the fleet cannot be had now')
  const asked = Promise.resolve().then(stats)
  return within(asked, FLEET_MS, failure, undefined, env).catch(() => {
    throw failure()
  })
}

/** `GET /api/events` */
export function followEvents({ feed, observer }: Parts, { url, request }: Visit): Response {
  noQuery(url)
  if (feed.size >= MOST_STREAMS) {
    const detail = `there are ${MOST_STREAMS} streams already; try again later`
    throw new Problem('TOO_MANY_STREAMS', detail, { 'retry-after': '10' })
  }
  const leave = observer.watch()
  const stream = feed.open(request.headers.get('last-event-id'), leave)
  observer.tell()
  // A proxy must not keep them back until there are more.
  return new Response(stream.body, {
    headers: { 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' },
  })
}

/** `GET /health/live`: this process answers. */
export function showLive(): Response {
  return Response.json({ status: 'live' })
}

/** `GET /health/ready`: the store answers too. Anyone may ask, so nobody is told why not. */
export async function showReady({ health }: Parts): Promise<Response> {
  if ((await health.ask()).ok) return Response.json({ status: 'ready' })
  throw new Problem('STORE_UNAVAILABLE', 'the store does not answer')
}

/** `GET /metrics` */
export function showMetrics({ locks }: Parts): Response {
  return new Response(metricsText(locks.stats(), locks.identity), {
    headers: { 'content-type': METRICS_TYPE },
  })
}

/** `GET /openapi.json` */
export async function showOpenApi({ version }: Parts): Promise<Response> {
  // Loaded when it is asked for: nothing else needs it.
  const { openApiText } = await import('./openapi.ts')
  return new Response(openApiText(version), { headers: { 'content-type': 'application/json' } })
}

/** `GET /` */
export function showDashboard({ assets }: Parts): Response {
  return assets.index()
}

/** `GET /assets/{name}` */
export function showAsset({ assets }: Parts, { url }: Visit): Response {
  const file = assets.asset(decodeURIComponent(url.pathname.slice('/assets/'.length)))
  if (!file) throw new Problem('NOT_FOUND', 'there is no such file')
  return file
}

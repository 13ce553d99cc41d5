import { LockError } from '../errors.ts'
import { Stats } from '../monitor/stats.ts'
import type { ProblemJson, StatsJson } from '../server/wire.ts'
import { UsageError } from './command.ts'

const LIMIT_MS = 10_000
const MOST_BYTES = 4 * 1024 * 1024

/** What a server says of itself. */
export async function fetchStats(url: string, token: string | undefined): Promise<StatsJson> {
  const address = addressOf(url)
  // Else `fetch` would name it in its complaint.
  if (token && !/^[\x21-\x7e]*$/.test(token))
    throw new LockError(
      'INVALID_OPTION',
      'configuration: HOLDFAST_SERVER_TOKEN: give a text of ASCII characters without spaces and line ends',
    )
  let response: Response
  let text: string
  try {
    response = await fetch(address, {
      headers: token ? { authorization: `Bearer ${token}` } : {},
      signal: AbortSignal.timeout(LIMIT_MS),
      // The token is for this address and no other.
      redirect: 'error',
    })
    text = await readText(response)
  } catch (cause) {
    throw new LockError('STORE_UNAVAILABLE', `${address.origin} does not answer`, { cause })
  }
  const body = parsed(text)
  if (response.ok && isStats(body)) return body
  if (response.status === 401 || response.status === 403) {
    const { detail = '' } = (body ?? {}) as Partial<ProblemJson>
    throw new LockError(
      'INVALID_OPTION',
      `configuration: HOLDFAST_SERVER_TOKEN: ${address.origin} refuses: ${String(detail)}`,
    )
  }
  const what = response.ok ? 'something else than statistics' : `HTTP ${response.status}`
  throw new LockError('STORE_UNAVAILABLE', `${address.origin} answers with ${what}`)
}

function addressOf(text: string): URL {
  const base = URL.canParse(text) ? new URL(text) : null
  if (!base || !/^https?:$/.test(base.protocol))
    throw new UsageError('--url: give an address such as http://127.0.0.1:7373')
  if (base.username || base.password)
    throw new UsageError('--url: takes no user and password; set HOLDFAST_SERVER_TOKEN')
  if (!base.pathname.endsWith('/')) base.pathname += '/'
  return new URL('api/stats', base)
}

async function readText({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body ?? []) {
    bytes += chunk.byteLength
    if (bytes > MOST_BYTES) throw new Error(`more than ${MOST_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

const TIMES = ['count', 'p50', 'p95', 'p99', 'maxMs']

/** All that its lines show: it may be of another version, or another program that wants to draw on this terminal. */
function isStats(body: unknown): body is StatsJson {
  const { stats, client, store, server, alerts } = (body ?? {}) as Partial<StatsJson>
  return (
    has(stats, [], [...Object.keys(new Stats('').counters), 'held', 'waiting']) &&
    [stats.wait, stats.hold, stats.storeLatency].every((times) => has(times, [], TIMES)) &&
    (stats.pool === null || has(stats.pool, [], ['open', 'idle', 'waiting'])) &&
    hasRows(stats.busiest, ['key'], ['requests', 'conflicts', 'waitedMs']) &&
    hasRows(stats.conflicts, ['waiter', 'holder'], ['count']) &&
    has(client, ['store', 'service', 'instance'], []) &&
    has(store, store?.error === null ? [] : ['error'], store?.latencyMs === null ? [] : ['latencyMs']) &&
    has(server, ['version'], ['upMs']) &&
    hasRows(alerts, ['kind', 'message'], ['lastedMs'])
  )
}

function has<T extends object>(
  value: T | null | undefined,
  texts: readonly string[],
  numbers: readonly string[],
): value is T {
  if (typeof value !== 'object' || value === null) return false
  const fields = value as Readonly<Record<string, unknown>>
  return (
    texts.every((name) => typeof fields[name] === 'string') &&
    numbers.every((name) => typeof fields[name] === 'number')
  )
}

function hasRows(
  rows: readonly object[] | undefined,
  texts: readonly string[],
  numbers: readonly string[],
): boolean {
  return Array.isArray(rows) && rows.every((row: object | null) => has(row, texts, numbers))
}

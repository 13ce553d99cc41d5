import { LockError } from '../errors.ts'
import type { ProblemJson, StatsJson } from '../server/wire.ts'
import { UsageError } from './command.ts'

const LIMIT_MS = 10_000
const MOST_BYTES = 4 * 1024 * 1024

/** What a server says of itself. */
export async function fetchStats(url: string, token: string | undefined): Promise<StatsJson> {
  const address = addressOf(url)
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

/** As far as its lines go by it: it may be of another version, or another program. */
function isStats(body: unknown): body is StatsJson {
  const { stats, client, store, server, alerts } = (body ?? {}) as Partial<Record<keyof StatsJson, object>>
  const has = (value: object | undefined, ...names: string[]): boolean =>
    typeof value === 'object' && value !== null && names.every((name) => name in value)
  return (
    has(stats, 'requests', 'wait', 'hold', 'storeLatency', 'busiest', 'conflicts', 'pool') &&
    has(client, 'store', 'service', 'instance') &&
    has(store, 'ok') &&
    has(server, 'version', 'upMs') &&
    Array.isArray(alerts)
  )
}

import { invalid } from './problems.ts'

export type Environ = Readonly<Record<string, string | undefined>>

/** A list of variables, and what each sets. */
const PATHS: Readonly<Record<string, readonly [string, string?]>> = {
  HOLDFAST_STORE: ['store', 'url'],
  HOLDFAST_PREFIX: ['store', 'prefix'],
  HOLDFAST_REPLICAS: ['store', 'replicas'],
  HOLDFAST_PUSH: ['store', 'push'],
  HOLDFAST_SCHEMA: ['store', 'schema'],
  HOLDFAST_TABLE: ['store', 'table'],
  HOLDFAST_KEEP: ['store', 'keep'],
  HOLDFAST_CREATE: ['store', 'create'],
  HOLDFAST_LISTEN: ['store', 'listen'],
  HOLDFAST_DATABASE: ['store', 'database'],
  HOLDFAST_COLLECTION: ['store', 'collection'],
  HOLDFAST_SERVICE: ['service'],
  HOLDFAST_INSTANCE: ['instance'],
  HOLDFAST_LEASE: ['lease'],
  HOLDFAST_WAIT: ['wait'],
  HOLDFAST_POLL_MIN: ['poll', 'min'],
  HOLDFAST_POLL_MAX: ['poll', 'max'],
  HOLDFAST_CALL_TIMEOUT: ['callTimeout'],
  HOLDFAST_ALERT_WEBHOOK: ['alerts', 'webhook'],
  HOLDFAST_ALERT_SECRET: ['alerts', 'secret'],
}
const FILE = 'HOLDFAST_CONFIG'
const NAMES = [...Object.keys(PATHS), FILE]

/** These are texts, even if one looks like a number or a flag. */
const TEXTS = new Set([
  'url',
  'prefix',
  'schema',
  'table',
  'database',
  'collection',
  'service',
  'instance',
  'webhook',
  'secret',
])

/** What Kubernetes sets for a service that is called holdfast, or holdfast-store. */
const OF_KUBERNETES = /_(SERVICE_HOST|SERVICE_PORT|PORT)(_\w+)?$/

/** The settings of the environment, which go before those of a file or a source. */
export class Variables {
  /** The file that HOLDFAST_CONFIG names. */
  readonly file: string | undefined
  /** The variable behind each path that has one. */
  readonly names: ReadonlyMap<string, string>
  readonly #values: readonly (readonly [path: readonly [string, string?], value: unknown])[]

  constructor(env: Environ) {
    refuseMistyped(env)
    // An empty one is as good as none: that is how a line of Compose or a shell takes one back.
    const set = Object.entries(PATHS).filter(([name]) => Boolean(env[name]))
    this.file = env[FILE] || undefined
    this.names = new Map(set.map(([name, path]) => [path.join('.'), name]))
    this.#values = set.map(([name, path]) => [path, valueOf(path.at(-1) ?? '', String(env[name]))])
  }

  /** A new object. What is no object and should be one stays as it is, and is found by the check. */
  over(config: Readonly<Record<string, unknown>>): Record<string, unknown> {
    const result: Record<string, unknown> = { ...config }
    if (typeof result['store'] === 'string') result['store'] = { url: result['store'] }
    for (const [[name, inner], value] of this.#values) {
      if (inner === undefined) result[name] = value
      else if (isRecord(result[name] ?? {})) result[name] = { ...(result[name] as object), [inner]: value }
    }
    return result
  }
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function valueOf(setting: string, text: string): unknown {
  if (TEXTS.has(setting)) return text
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text)
  return text === 'true' ? true : text === 'false' ? false : text
}

/**
 * A name that is nearly one of ours is a mistake that would otherwise be ignored in silence. Others with the same
 * beginning may belong to someone else.
 */
function refuseMistyped(env: Environ): void {
  for (const name of Object.keys(env)) {
    if (!name.startsWith('HOLDFAST_') || NAMES.includes(name) || OF_KUBERNETES.test(name)) continue
    const meant = NAMES.find((known) => name.startsWith(`${known}_`) || isNear(name.slice(0, 40), known))
    if (meant) throw invalid(`the variable ${name} is unknown, did you mean ${meant}?`)
  }
}

function isNear(name: string, known: string): boolean {
  return distance(name, known) <= (known.length - 'HOLDFAST_'.length > 5 ? 2 : 1)
}

/** How many characters have to be put in, taken out or changed. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 0; i < a.length; i += 1) {
    const next = [i + 1]
    for (let j = 0; j < b.length; j += 1) {
      const change = (row[j] ?? 0) + (a[i] === b[j] ? 0 : 1)
      next.push(Math.min(change, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1))
    }
    row = next
  }
  return row[b.length] ?? 0
}

import type { Environment } from '../environment.ts'
import { LockError } from '../errors.ts'
import { checkNames, checkEnvironment } from '../option-check.ts'
import type { LockStats } from '../monitor/stats.ts'
import type { AuditEntry } from './audit.ts'

/** Options of `lockServer`. */
export interface LockServerOptions {
  /**
   * What a caller has to show, at least 32 characters; or several, each under the name of who has it, as the audit
   * shows it. Absent: only this machine is answered, and nothing can be freed.
   */
  readonly token?: string | Readonly<Record<string, string>> | undefined
  /** Nothing can be freed, with a token or without. */
  readonly readOnly?: boolean | undefined
  /** Names under which it may be asked, besides those of this machine: `locks.example.com`. They need a token. */
  readonly hosts?: readonly string[] | undefined
  /**
   * Is told of each forced release, before and after. What it throws or rejects with before keeps the release from
   * happening. Absent: a line of JSON by `console.error`.
   */
  readonly audit?: ((entry: AuditEntry) => void | Promise<void>) | undefined
  /** Whether it looks at the store only while someone reads `/api/events` (default), or always, for a longer history. */
  readonly observe?: 'watched' | 'always' | undefined
  /**
   * The numbers that `/api/stats` and the dashboard show, instead of those of `locks` alone: those of a fleet, added up by
   * `mergeStats`.
   */
  readonly stats?: (() => LockStats | Promise<LockStats>) | undefined
  /** Time and randomness, for tests. */
  readonly environment?: Environment | undefined
}

export const SERVER_OPTIONS: readonly string[] = [
  'token',
  'readOnly',
  'hosts',
  'audit',
  'observe',
  'stats',
  'environment',
]
const LEAST_TOKEN = 32
const MOST_TOKEN = 1024

/** The same, checked and complete. */
export interface ServerTerms {
  /** Who has which; empty without one. */
  readonly tokens: ReadonlyMap<string, string>
  readonly readOnly: boolean
  /** Lower case, with a port or without. */
  readonly hosts: ReadonlySet<string>
  readonly audit: (entry: AuditEntry) => void | Promise<void>
  readonly always: boolean
  /** Of a fleet; null: those of the client. */
  readonly stats: (() => LockStats | Promise<LockStats>) | null
  readonly env: Environment
}

export function checkServerOptions(
  options: LockServerOptions,
  where: string,
  names: readonly string[],
): ServerTerms {
  checkNames(where, options, names)
  const { token, readOnly = false, hosts = [], audit = toConsole, observe = 'watched' } = options
  const { stats = null, environment } = options
  if (typeof readOnly !== 'boolean') throw invalid('readOnly: give true or false')
  if (!Array.isArray(hosts) || !hosts.every(isHost))
    throw invalid("hosts: give a list of host names, such as 'locks.example.com' or 'locks.internal:7373'")
  if (typeof audit !== 'function') throw invalid('audit: give a function')
  if (observe !== 'watched' && observe !== 'always') throw invalid("observe: give 'watched' or 'always'")
  if (stats !== null && typeof stats !== 'function') throw invalid('stats: give a function')
  const tokens = checkTokens(token)
  if (tokens.size === 0 && hosts.length > 0)
    throw invalid('hosts: under another name than those of this machine it needs a token')
  return {
    tokens,
    readOnly,
    // Browsers leave the usual port out.
    hosts: new Set((hosts as readonly string[]).map((host) => host.toLowerCase().replace(/:(80|443)$/, ''))),
    audit,
    always: observe === 'always',
    stats,
    env: checkEnvironment(environment),
  }
}

function checkTokens(token: unknown): ReadonlyMap<string, string> {
  if (token === undefined) return new Map()
  const named = typeof token === 'string' ? { token } : token
  if (typeof named !== 'object' || named === null || Array.isArray(named))
    throw invalid('token: give a text, or an object of them by the name of who has it')
  const tokens = new Map<string, string>()
  for (const [who, each] of Object.entries(named)) {
    if (!/^[^\p{Cc}]{1,100}$/u.test(who))
      throw invalid('token: a name has 1 to 100 characters and no control character')
    // The token itself is never part of a message.
    if (typeof each !== 'string' || !/^[\x21-\x7e]*$/.test(each))
      throw invalid('token: give a text of ASCII characters without spaces')
    if (each.length < LEAST_TOKEN || each.length > MOST_TOKEN)
      throw invalid(
        `token: it has ${each.length} characters; give ${LEAST_TOKEN} to ${MOST_TOKEN}, such as openssl rand -hex 32 prints`,
      )
    if ([...tokens.values()].includes(each))
      throw invalid('token: two names have the same; give each one of its own')
    tokens.set(who, each)
  }
  if (tokens.size === 0) throw invalid('token: give at least one, or leave it out')
  return tokens
}

function isHost(host: unknown): boolean {
  return typeof host === 'string' && /^([a-z0-9._-]{1,253}|\[[0-9a-f:.]+\])(:\d{1,5})?$/i.test(host)
}

function toConsole(entry: AuditEntry): void {
  console.error(JSON.stringify({ holdfast: 'audit', ...entry }))
}

function invalid(message: string): LockError {
  return new LockError('INVALID_OPTION', `lockServer: ${message}`)
}

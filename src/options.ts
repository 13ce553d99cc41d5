import { checkDuration, type Duration } from './duration.ts'
import type { Environment } from './environment.ts'
import { LockError } from './errors.ts'
import type { Logger } from './monitor/journal.ts'
import {
  checkFlag,
  checkNames,
  invalid,
  MIN_LEASE_MS,
  orElse,
  WAIT_LIMITS,
  checkEnvironment,
} from './option-check.ts'
import { checkDefaults, DEFAULTS, type Defaults, type Settings } from './settings.ts'
import type { ListQuery } from './store.ts'

/** Options of `createLocks`. */
export interface LocksOptions extends Defaults {
  /** Names this program to people and metrics: who holds a key, who waits for it. */
  readonly service?: string | undefined
  /** Names this process; made of host and process id if absent. */
  readonly instance?: string | undefined
  /**
   * The limit of one store call; past it the outcome is unknown. Default 3 s. Stores of holdfast wait no longer than
   * 2.5 s for an answer whatever it is: a longer one gives time to a store of your own, or to a Redis client of
   * your own.
   */
  readonly callTimeout?: Duration | undefined
  /** Anything shaped like `console` or pino. Absent: warnings only, to the console. Null: silence. */
  readonly logger?: Logger | null | undefined
  /** Time and randomness, for tests. */
  readonly environment?: Environment | undefined
}

/** Options of `acquire`; those of `tryAcquire` are the same without `wait`. */
export interface AcquireOptions {
  /** How long to wait for the key. `0`: one try; `Infinity`: for ever. Default: the client's, which is 5 s unless set. */
  readonly wait?: Duration | undefined
  /** How long the key stays taken if this process dies. It is renewed until then. Default: the client's, 30 s unless set. */
  readonly lease?: Duration | undefined
  /** Renew until released. Default true; with false the lease ends by itself. */
  readonly renew?: boolean | undefined
  /** Gives up waiting. It does not end a lease once there is one. */
  readonly signal?: AbortSignal | undefined
  /** Why the key is held, for people: a string, or a value that JSON can carry. At most 4 KiB. */
  readonly context?: unknown
  /** Inside `using` of the same key: enter again (default), or with false throw DEADLOCK. */
  readonly reentrant?: boolean | undefined
  /** Raise the token at this pace while the lease goes on. The lease must be at least twice as long. */
  readonly rotateToken?: Duration | undefined
  /** The shortest hold: released earlier, the key stays taken until then. At most the lease. */
  readonly atLeast?: Duration | undefined
}

export type TryOptions = Omit<AcquireOptions, 'wait'>

export interface UsingOptions extends AcquireOptions {
  /** What `using` does when its body ends after the lease was lost. Default `throw`. */
  readonly onLost?: 'throw' | 'ignore' | undefined
}

export type Isolation = 'read committed' | 'repeatable read' | 'serializable'

/** Checks a token inside a transaction: what `fence(db)` of `holdfast/fence` makes, or one around it for an ORM. */
export interface TransactionGuard {
  /** Called before the transaction begins. */
  open?(): Promise<void>
  /** Rejects, with STALE_TOKEN as a rule, if the transaction must not go on. */
  check(tx: never, resource: string, token: bigint): Promise<void>
}

/** Options of `transaction`. */
export interface TransactionOptions extends AcquireOptions {
  /** Absent: what the database does by default. SQLite is always serializable; not for MongoDB. */
  readonly isolation?: Isolation | undefined
  /** Default: `fence(db)`; none for a transaction manager. False: none. */
  readonly fence?: TransactionGuard | false | undefined
}

/** Options of `list`. */
export interface ListOptions {
  /** Only keys that begin with it. */
  readonly prefix?: string | undefined
  /** The `next` of the page before. */
  readonly after?: string | undefined
  /** 1 to 1000. Default 100. */
  readonly limit?: number | undefined
}

/**
 * One acquisition: the options of the call, checked and complete, so that core never looks at the raw ones
 * again; and how far that call is, if it is for several keys. That is `beforeMs`, `isPart` and, with the latter, `oneTry`:
 * no options, but set by `src/several.ts` alone, for each key that it asks for.
 */
export interface Request {
  readonly waitMs: number
  /** Of several keys: how long the caller has waited for others of them before. Whoever gives up tells the whole wait. */
  readonly beforeMs: number
  /** Asks once and takes the answer, instead of waiting: with a wait of 0, and for one of several keys that is tried. */
  readonly oneTry: boolean
  /** One of several keys that is tried, not waited for: who asks for all of them reports what becomes of it. */
  readonly isPart: boolean
  readonly leaseMs: number
  readonly renew: boolean
  readonly signal: AbortSignal | null
  readonly context: string | null
  readonly reentrant: boolean
  /** 0: never. */
  readonly rotateMs: number
  readonly atLeastMs: number
  readonly ignoreLoss: boolean
}

/** One of several keys that is tried, and will be waited for if it is taken: `waitMs` is what there is left for that. */
export function comesBack({ isPart, waitMs }: Request): boolean {
  return isPart && waitMs > 0
}

const MAX_CONTEXT_BYTES = 4096

const LOCKS_OPTIONS = [
  'service',
  'instance',
  'callTimeout',
  'logger',
  'environment',
  'lease',
  'wait',
  'poll',
  'keys',
]
const TRY_OPTIONS = ['lease', 'renew', 'signal', 'context', 'reentrant', 'rotateToken', 'atLeast']
export const ACQUIRE_OPTIONS: readonly string[] = [...TRY_OPTIONS, 'wait']
const USING_OPTIONS = [...ACQUIRE_OPTIONS, 'onLost']
const TRANSACTION_OPTIONS = [...ACQUIRE_OPTIONS, 'isolation', 'fence']
const ISOLATIONS: readonly unknown[] = ['read committed', 'repeatable read', 'serializable']

export function checkLocksOptions(options: LocksOptions): {
  settings: Settings
  service: string
  instance: string | undefined
  callTimeoutMs: number
  environment: Environment
} {
  checkNames('createLocks', options, LOCKS_OPTIONS)
  checkText('service', options.service)
  checkText('instance', options.instance)
  const { logger } = options
  if (logger !== undefined && (typeof logger !== 'object' || (logger !== null && !hasMethod(logger)))) {
    throw invalid('logger: give an object with debug, info, warn or error, such as console, or null')
  }
  return {
    settings: checkDefaults(options, DEFAULTS),
    service: options.service ?? 'unnamed',
    instance: options.instance,
    callTimeoutMs: checkDuration(options.callTimeout ?? 3000, { name: 'callTimeout', min: 10 }),
    environment: checkEnvironment(options.environment),
  }
}

export type Call = 'acquire' | 'tryAcquire' | 'using'

const NAMES: Record<Call, readonly string[]> = {
  acquire: ACQUIRE_OPTIONS,
  tryAcquire: TRY_OPTIONS,
  using: USING_OPTIONS,
}

export function checkRequest(call: Call, options: UsingOptions, settings: Settings): Request {
  checkNames(call, options, NAMES[call])
  const leaseMs = orElse(options.lease, settings.leaseMs, { name: 'lease', min: MIN_LEASE_MS })
  const renew = checkFlag('renew', options.renew, true)
  const rotateMs = orElse(options.rotateToken, 0, { name: 'rotateToken', min: 1 })
  // That of the key gives way to the lease of the call: a change of the configuration must not make calls fail.
  const ownMs = Math.min(settings.atLeastMs, leaseMs)
  const atLeastMs = orElse(options.atLeast, ownMs, { name: 'atLeast', min: 0 })
  if (rotateMs > 0 && leaseMs < 2 * rotateMs) {
    throw invalid(`rotateToken: the lease (${leaseMs} ms) must be at least twice as long as ${rotateMs} ms`)
  }
  if (rotateMs > 0 && !renew)
    throw invalid('rotateToken: the token is raised by renewals, so it needs renew: true')
  // A process that dies right after the grant must still keep the key for this long.
  if (atLeastMs > leaseMs) throw invalid(`atLeast: it must not be longer than the lease (${leaseMs} ms)`)
  const { signal, onLost } = options
  if (signal !== undefined && !(signal instanceof AbortSignal)) throw invalid('signal: give an AbortSignal')
  if (onLost !== undefined && onLost !== 'throw' && onLost !== 'ignore') {
    throw invalid("onLost: give 'throw' or 'ignore'")
  }
  const waitMs = call === 'tryAcquire' ? 0 : orElse(options.wait, settings.waitMs, WAIT_LIMITS)
  return {
    waitMs,
    beforeMs: 0,
    oneTry: waitMs === 0,
    isPart: false,
    leaseMs,
    renew,
    signal: signal ?? null,
    context: checkContext(options.context),
    reentrant: checkFlag('reentrant', options.reentrant, true),
    rotateMs,
    atLeastMs,
    ignoreLoss: onLost === 'ignore',
  }
}

/** Options of one transaction, checked and complete. */
export interface TransactionTerms {
  readonly isolation: Isolation | null
  /** Null: the default of the database. */
  readonly fence: TransactionGuard | false | null
  readonly usingOptions: UsingOptions
}

export function checkTransaction(options: TransactionOptions, settings: Settings): TransactionTerms {
  checkNames('transaction', options, TRANSACTION_OPTIONS)
  const { isolation, fence, ...rest } = options
  if (isolation !== undefined && !ISOLATIONS.includes(isolation)) {
    throw invalid("isolation: give 'read committed', 'repeatable read' or 'serializable'")
  }
  if (
    fence !== undefined &&
    fence !== false &&
    typeof (fence as TransactionGuard | null)?.check !== 'function'
  ) {
    throw invalid('fence: give a guard that fence(db) of holdfast/fence has made, or false')
  }
  // Whether the lease was in force before COMMIT is what counts; what is committed is not lost after that.
  const usingOptions = { ...rest, onLost: 'ignore' } as const
  checkRequest('using', usingOptions, settings)
  return { isolation: isolation ?? null, fence: fence ?? null, usingOptions }
}

/** A lease length given on its own, as to `extend`. */
export function checkLease(lease: Duration): number {
  return checkDuration(lease, { name: 'lease', min: MIN_LEASE_MS })
}

export function checkListOptions(options: ListOptions): ListQuery {
  checkNames('list', options, ['prefix', 'after', 'limit'])
  const { prefix, after, limit = 100 } = options
  for (const [name, value] of Object.entries({ prefix, after })) {
    if (value === undefined) continue
    if (typeof value !== 'string') throw invalid(`list: ${name} must be a string`)
    // No key has any, and some servers cannot read it.
    if (!value.isWellFormed() || value.includes('\0'))
      throw invalid(`list: ${name} must not have a NUL or half a surrogate pair in it`)
  }
  if (!Number.isInteger(limit) || limit < 1 || limit > 1000)
    throw invalid('list: limit must be from 1 to 1000')
  return { limit, ...(prefix === undefined ? {} : { prefix }), ...(after === undefined ? {} : { after }) }
}

function checkContext(context: unknown): string | null {
  if (context === undefined || context === null) return null
  let text: string | undefined
  try {
    text = typeof context === 'string' ? context : JSON.stringify(context)
  } catch (cause) {
    throw new LockError('INVALID_OPTION', 'context: give a string or a value that JSON can carry', { cause })
  }
  if (text === undefined) throw invalid('context: give a string or a value that JSON can carry')
  // Some servers cannot store a NUL or half a surrogate pair in text.
  const storable = text.toWellFormed().replaceAll('\0', '\ufffd')
  if (Buffer.byteLength(storable) > MAX_CONTEXT_BYTES) {
    throw invalid(`context: at most ${MAX_CONTEXT_BYTES} bytes; keep the rest in your logs`)
  }
  return storable
}

function checkText(name: string, value: unknown): void {
  if (value === undefined) return
  if (typeof value !== 'string' || value.length === 0 || value.length > 200 || /\p{Cc}/u.test(value)) {
    throw invalid(`${name}: give a text of 1 to 200 characters without control characters`)
  }
}

function hasMethod(logger: object): boolean {
  return ['debug', 'info', 'warn', 'error'].some((level) => typeof Reflect.get(logger, level) === 'function')
}

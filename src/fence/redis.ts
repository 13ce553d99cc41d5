import { has } from '../databases/methods.ts'
import { newCall, replyTo } from '../databases/redis-call.ts'
import { checkFlag, checkNames } from '../option-check.ts'
import type { CheckOptions, Token } from './fence.ts'
import { checkResource, claimOf, invalid, judge } from './verdict.ts'

/** The part of a client of ioredis, or of its fork iovalkey, that a guard needs. */
export interface FenceIoredis {
  eval(script: string, keyCount: number, ...keysAndArgs: string[]): Promise<unknown>
  evalsha(sha: string, keyCount: number, ...keysAndArgs: string[]): Promise<unknown>
}

/** The part of a client of node-redis that a guard needs. */
export interface FenceNodeRedis {
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>
  evalSha(sha: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>
}

export interface RedisFenceOptions extends CheckOptions {
  /** What the names of the guard's keys begin with. Default `holdfast:fence:`. */
  readonly prefix?: string | undefined
}

/** The keys and arguments of a script, which finds them as KEYS and ARGV. */
export interface ScriptInput {
  readonly keys?: readonly string[] | undefined
  readonly args?: readonly string[] | undefined
}

/**
 * A guard for what is kept in Redis. Only a script can check and write in one step, so it runs one. Its keys do not
 * expire, but an `allkeys-…` eviction policy would throw them away.
 */
export interface RedisFence {
  /**
   * Runs the Lua script if no higher token has been seen, else rejects with STALE_TOKEN and runs nothing. Resolves to
   * what the script returns. The token counts as seen even if the script fails half-way, as its writes do.
   */
  run(
    resource: string,
    token: Token,
    script: string,
    input?: ScriptInput,
    options?: CheckOptions,
  ): Promise<unknown>

  /** The highest token seen; null if none was. */
  highest(resource: string): Promise<bigint | null>

  /** Removes what is known of a resource, and says whether there was anything. Any token passes then. */
  forget(resource: string): Promise<boolean>
}

// Tokens have up to 19 digits, more than a Lua number holds: with leading zeros they compare as texts.
// The answer is wrapped, since a script may return anything, or nothing.
const GUARD = `
local seen = redis.call('GET', KEYS[1])
if seen and (seen > ARGV[1] or (seen == ARGV[1] and ARGV[2] == 'strict')) then return { 'stale', seen } end
redis.call('SET', KEYS[1], ARGV[1])
local function guarded(KEYS, ARGV)
`
const REST = `
end
return { 'done', guarded({ unpack(KEYS, 2) }, { unpack(ARGV, 3, #ARGV - 1) }) }
`
const DIGITS = 19

type Evaluate = (script: string, keys: string[], args: string[]) => Promise<unknown>

/** Each resource takes one small key, which stays until it is forgotten. */
export function redisFence(
  client: FenceIoredis | FenceNodeRedis,
  options: RedisFenceOptions = {},
): RedisFence {
  checkNames('redisFence', options, ['strict', 'prefix'])
  const { prefix = 'holdfast:fence:' } = options
  if (typeof prefix !== 'string' || prefix === '') throw invalid('prefix: give a text')
  const strict = checkFlag('fence: strict', options.strict, false)
  const evaluate = evaluatorOf(client)
  const nameOf = (resource: string): string => prefix + checkResource(resource)
  return {
    async run(resource, token, script, input = {}, options) {
      if (typeof script !== 'string') throw invalid('give the script as text')
      checkNames('redisFence: run', input, ['keys', 'args'])
      const keys = textsOf('keys', input.keys)
      const args = textsOf('args', input.args)
      const claim = claimOf(resource, token, options, strict)
      const [outcome, value] = (await evaluate(
        GUARD + script + REST,
        [nameOf(resource), ...keys],
        [String(claim.token).padStart(DIGITS, '0'), claim.strict ? 'strict' : '', ...args],
      )) as [unknown, unknown]
      // Texts and numbers come in whatever form the client is set to give them in.
      if (String(outcome) === 'stale') judge(claim, BigInt(String(value)))
      return value ?? null
    },
    async highest(resource) {
      const get = evaluate(`return redis.call('GET', KEYS[1])`, [nameOf(resource)], [])
      const seen = (await get) as string | Buffer | null
      return seen === null ? null : BigInt(String(seen))
    },
    async forget(resource) {
      return Number(await evaluate(`return redis.call('DEL', KEYS[1])`, [nameOf(resource)], [])) === 1
    },
  }
}

/** A single text is a list of letters to whoever spreads it, and what is no text becomes one that nobody meant. */
function textsOf(name: string, values: readonly string[] = []): readonly string[] {
  if (Array.isArray(values) && values.every((value) => typeof value === 'string')) return values
  throw invalid(`run: ${name}: give a list of texts`)
}

/** Both kinds of client have `eval`; by the other name of EVALSHA they are told apart. */
function evaluatorOf(client: FenceIoredis | FenceNodeRedis): Evaluate {
  if (has(client, 'eval', 'evalsha')) {
    const ioredis = client as FenceIoredis
    return marked((script, keys, args) => ioredis.eval(script, keys.length, ...keys, ...args))
  }
  if (has(client, 'eval', 'evalSha')) {
    const redis = client as FenceNodeRedis
    return marked((script, keys, args) => redis.eval(script, { keys, arguments: args }))
  }
  throw invalid('give a client of ioredis or node-redis')
}

/** Takes nothing but the reply of this very call for its answer. The script finds the mark behind its arguments. */
function marked(evaluate: Evaluate): Evaluate {
  return async (script, keys, args) => {
    const call = newCall()
    const text = `local function answer()\n${script}\nend\nreturn { ARGV[#ARGV], answer() }`
    return replyTo(call, await evaluate(text, keys, [...args, call]))
  }
}

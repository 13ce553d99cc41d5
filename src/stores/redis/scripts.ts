import { createHash } from 'node:crypto'
import { newCall, replyTo } from '../../databases/redis-call.ts'
import type { RedisClient, Script } from './client.ts'
import { Deadline } from './deadline.ts'
import * as lua from './lua.ts'

export const ACQUIRE: Script = script(lua.acquire_plain, lua.records, lua.waiters, lua.grants, lua.acquire)
export const RENEW: Script = script(lua.records, lua.grants, lua.renew)
export const RELEASE: Script = script(lua.release_plain, lua.records, lua.waiters, lua.release)
export const EVICT: Script = script(lua.records, lua.waiters, lua.evict)
export const READ: Script = script(lua.records, lua.read)
export const ENLIST: Script = script(lua.records, lua.waiters, lua.enlist)
export const DISMISS: Script = script(lua.records, lua.waiters, lua.dismiss)
export const PASS: Script = script(lua.records, lua.waiters, lua.pass)

/** The last argument comes back with the reply, see `replyTo`. */
function script(...parts: readonly string[]): Script {
  const text = `local function answer()\n${parts.join('\n')}\nend\nreturn { ARGV[#ARGV], answer() }`
  return { text, sha: createHash('sha1').update(text).digest('hex') }
}

/** By its digest; in full only to a server that does not know it: a new one, or one whose scripts were flushed. */
export async function run(
  client: RedisClient,
  { text, sha }: Script,
  keys: readonly string[],
  args: readonly string[],
  deadline: Deadline = new Deadline(),
): Promise<unknown> {
  const call = newCall()
  const marked = [...args, call]
  try {
    return replyTo(call, await client.evalSha(sha, keys, marked, deadline))
  } catch (error) {
    if (!isUnknown(error)) throw error
    deadline.check()
    return replyTo(call, await client.eval(text, keys, marked, deadline))
  }
}

/** As above, and then waits until so many replicas have it. `idle` are arguments with which the script does nothing. */
export async function runAndWait(
  client: RedisClient,
  { text, sha }: Script,
  keys: readonly string[],
  args: readonly string[],
  idle: readonly string[],
  { replicas, limitMs }: { readonly replicas: number; readonly limitMs: number },
  deadline: Deadline,
): Promise<readonly [reply: unknown, replicas: number]> {
  const call = newCall()
  const send = async (): Promise<readonly [unknown, number]> => {
    const marked = [...args, call]
    const [reply, seen] = await client.evalShaAndWait(sha, keys, marked, replicas, limitMs, deadline)
    return [replyTo(call, reply), seen]
  }
  try {
    return await send()
  } catch (error) {
    if (!isUnknown(error)) throw error
    await client.eval(text, keys, [...idle, call], deadline)
    deadline.check()
    return send()
  }
}

function isUnknown(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT')
}

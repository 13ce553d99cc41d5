import type { Redis } from 'ioredis'
import * as lua from '../../src/stores/redis/lua.ts'

/** What a server did with one command. */
export interface Calls {
  readonly calls: number
  /** Time that the server was busy with them. */
  readonly us: number
}

export type CommandStats = ReadonlyMap<string, Calls>

/** Since the server was started, those inside scripts too. */
export async function commandStats(client: Redis): Promise<CommandStats> {
  const stats = new Map<string, Calls>()
  for (const line of (await client.info('commandstats')).split('\r\n')) {
    const [, name, calls, us] = /^cmdstat_([^:]+):calls=(\d+),usec=(\d+)/.exec(line) ?? []
    if (name !== undefined) stats.set(name, { calls: Number(calls), us: Number(us) })
  }
  return stats
}

/** What came in between, without what asked for it. */
export function between(before: CommandStats, after: CommandStats): CommandStats {
  const stats = new Map<string, Calls>()
  for (const [name, { calls, us }] of after) {
    const earlier = before.get(name) ?? { calls: 0, us: 0 }
    if (calls > earlier.calls && name !== 'info')
      stats.set(name, { calls: calls - earlier.calls, us: us - earlier.us })
  }
  return stats
}

/** What the scripts of holdfast call. It sends none of it by itself. */
const SCRIPTED = new Set(['publish', ...Object.values(lua).flatMap(calledBy)])

function calledBy(text: string): string[] {
  return [...text.matchAll(/call\w*\('([A-Z]+)'/g)].map(([, name = '']) => name.toLowerCase())
}

/** Of what holdfast did, how much came over the wire. */
export function sentByHoldfast(stats: CommandStats): number {
  const sent = [...stats.keys()].filter((name) => !SCRIPTED.has(name))
  return callsOf(stats, sent)
}

/** Of all, or of those with these names. */
export function callsOf(stats: CommandStats, names: Iterable<string> = stats.keys()): number {
  return [...names].reduce((sum, name) => sum + (stats.get(name)?.calls ?? 0), 0)
}

import type { Db } from 'mongodb'

/** All that is sent to lock, to wait and to look. Not what drivers say to keep in touch with the server. */
const COUNTED = ['insert', 'delete', 'update', 'findAndModify', 'find', 'aggregate', 'getMore', 'killCursors']

/** How often each was sent. */
export type Counts = ReadonlyMap<string, number>

/** Since the server was started, by anyone. */
export async function commandCounts(db: Db): Promise<Counts> {
  const { metrics } = await db.admin().command({ serverStatus: 1 })
  const commands = metrics.commands as Record<string, { total: unknown } | undefined>
  return new Map(COUNTED.map((name) => [name, Number(commands[name]?.total ?? 0)]))
}

export function between(before: Counts, after: Counts): Counts {
  return new Map([...after].map(([name, count]) => [name, count - (before.get(name) ?? 0)]))
}

export function total(counts: Counts): number {
  return [...counts.values()].reduce((sum, each) => sum + each, 0)
}

/** By what was sent, and in all. */
export function perThousand(counts: Counts, locks: number): Record<string, number[]> {
  const each = [...counts].map(([name, count]) => [`${name}s`, [(1000 * count) / locks]] as const)
  return { ...Object.fromEntries(each), commands: [(1000 * total(counts)) / locks] }
}

import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { LockRecord } from '../../src/store.ts'
import type { RedisClient, Scanner } from '../../src/stores/redis/client.ts'
import { listLocks } from '../../src/stores/redis/listing.ts'
import { Names } from '../../src/stores/redis/names.ts'

/** SCAN as Redis does it: the cursor counts through the buckets from its highest bit, so that a table can be resized. */
class Table implements Scanner {
  readonly name = 'the one'
  bits: number
  /** At most so many buckets in one call: as if it had a thousand times as many keys. */
  most = Infinity
  scans = 0
  readonly #hashed: readonly (readonly [hash: number, name: string])[]

  constructor(names: readonly string[], bits: number) {
    this.#hashed = names.map((name) => [hashOf(name), name])
    this.bits = bits
  }

  async scan(cursor: string, _match: string, count: number): Promise<{ cursor: string; names: string[] }> {
    this.scans += 1
    const names: string[] = []
    let at = Number(cursor)
    for (let looked = 0; looked < Math.min(count, this.most); looked += 1) {
      const bucket = at & ((1 << this.bits) - 1)
      for (const [hash, name] of this.#hashed)
        if ((hash & ((1 << this.bits) - 1)) === bucket) names.push(name)
      at = reversed((reversed(at, this.bits) + 1) & ((1 << this.bits) - 1), this.bits)
      if (at === 0) break
    }
    return { cursor: String(at), names }
  }
}

function hashOf(name: string): number {
  return createHash('sha1').update(name).digest().readUInt32LE() & 0xffff
}

function reversed(value: number, bits: number): number {
  let result = 0
  for (let bit = 0; bit < bits; bit += 1) if (value & (1 << bit)) result |= 1 << (bits - 1 - bit)
  return result
}

const names = new Names('holdfast', '')

async function keysOf(table: Table, limit: number, between: () => void): Promise<string[]> {
  const client = { scanners: async () => [table] } as unknown as RedisClient
  const read = async (keys: readonly string[]): Promise<LockRecord[]> =>
    keys.map((key) => ({ key }) as LockRecord)
  const found: string[] = []
  let after: string | undefined
  do {
    const page = await listLocks({ limit, ...(after === undefined ? {} : { after }) }, client, names, read)
    expect(page.locks.length).toBeLessThanOrEqual(limit)
    found.push(...page.locks.map(({ key }) => key))
    after = page.next ?? undefined
    between()
  } while (after !== undefined)
  return found
}

it('a lock that is held all the time is on a page, also if the server resizes its table between two', async () => {
  const keys = fc.uniqueArray(fc.stringMatching(/^[a-z]{1,4}$/), { maxLength: 40 })
  const sizes = fc.infiniteStream(fc.integer({ min: 1, max: 6 }))
  await fc.assert(
    fc.asyncProperty(keys, fc.integer({ min: 1, max: 12 }), sizes, async (all, limit, bits) => {
      const table = new Table(
        all.map((key) => names.record(key)),
        bits.next().value ?? 1,
      )
      table.most = 2
      const found = await keysOf(table, limit, () => (table.bits = bits.next().value ?? 1))
      expect([...new Set(found)].sort()).toEqual([...all].sort())
    }),
    { numRuns: 300 },
  )
})

it('a table that keeps its size gives each once, with about a call for a page', async () => {
  const all = Array.from({ length: 1000 }, (_, i) => `key ${i}`)
  const table = new Table(
    all.map((key) => names.record(key)),
    10,
  )
  const found = await keysOf(table, 50, () => {})
  expect(found.toSorted()).toEqual(all.toSorted())
  expect(table.scans).toBeLessThan(60)
})

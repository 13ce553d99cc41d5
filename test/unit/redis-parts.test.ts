import { describe, expect, it } from 'vitest'
import { bucketOf } from '../../src/stores/redis/names.ts'
import { Parts } from '../../src/stores/redis/parts.ts'
import { keysIn } from '../support/redis-sets.ts'

const ITEMS = keysIn('21', 3).map((key) => ({ key }))
const [FIRST] = keysIn('22', 1)

/** How many calls the items are shared out among, once a call for all of them has failed like this. */
async function callsAfter(message: string): Promise<number> {
  const parts = new Parts(true, () => undefined)
  const all = parts.of(ITEMS, ({ key }) => key)
  expect(all).toHaveLength(1)
  const answers = await parts.answers(all, 0, () => Promise.reject(new Error(message)))
  expect([...answers.values()].every((answer) => 'error' in answer)).toBe(true)
  // Others are not concerned.
  expect(parts.isApart(FIRST as string)).toBe(false)
  return parts.of(ITEMS, ({ key }) => key).length
}

describe('the keys of a slot that is on its way', () => {
  it.each([
    'TRYAGAIN Multiple keys request during rehashing of slot',
    // Clients that follow each hint go to and fro, and give up wherever they are.
    'Too many Cluster redirections. Last error: ReplyError: TRYAGAIN Multiple keys request during rehashing of slot',
    'Too many Cluster redirections. Last error: ReplyError: MOVED 1413 127.0.0.1:7000',
    'Too many Cluster redirections. Last error: ReplyError: ASK 1413 127.0.0.1:7000',
    'too many redirections. Last error: Error: ASK 1413 127.0.0.1:7000',
  ])('G7 are called for one by one after %s', async (message) => {
    expect(ITEMS.map(({ key }) => bucketOf(key))).toEqual(['21', '21', '21'])
    expect(await callsAfter(message)).toBe(3)
  })

  it('are called for at once after anything else', async () => {
    expect(await callsAfter('Connection is closed.')).toBe(1)
  })
})

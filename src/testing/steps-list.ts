import assert from 'node:assert/strict'
import { acquireAll, ask, grantTo, heldRecord, recordOf, releaseAll, releaseOne, shuffled } from './claims.ts'
import type { Stage, Test } from './stage.ts'
import { now } from './timing.ts'
import type { Ask, ListQuery, LockRecord, Store } from '../store.ts'

export function listSteps(test: Test): void {
  test('shows held keys only', async (stage) => {
    const [a, b] = await stage.pair()
    const asks = stage.keys(6).map((key) => ask(key))
    await acquireAll(a, asks)
    await releaseAll(a, asks.slice(0, 2))
    await b.evict(asks[2]?.key ?? '')
    await assertListed(
      b,
      { prefix: stage.prefix },
      asks.slice(3).map(({ key }) => key),
    )
  })

  test('shows nothing for an unknown prefix or key', async (stage) => {
    const store = await stage.client()
    await grantTo(store, ask(stage.key()))
    await assertListed(store, { prefix: stage.key('other') }, [])
    assert.equal(await recordOf(store, stage.key('other')), undefined)
  })

  test('shows all keys without a prefix', async (stage) => {
    const store = await stage.client()
    const keys = stage.keys(5)
    await acquireAll(
      store,
      keys.map((key) => ask(key)),
    )
    // The server may be shared: others' keys are there as well.
    const seen = (await readAll(store, {}, 1000)).map(({ key }) => key)
    for (const key of keys) assert.ok(seen.includes(key), `${key} is held and not listed`)
  })

  test('takes a prefix as it is written, not as a pattern', async (stage) => {
    const store = await stage.client()
    const signs = [
      '%',
      '_',
      '*',
      '?',
      '[x]',
      '[',
      ']',
      '\\',
      '\\%',
      '^',
      '$',
      '.',
      '+',
      '|',
      '{x}',
      '(',
      "'",
      '"',
      '\u00e9',
      '\u{1f512}',
    ]
    const keys = ['x', 'xx', '', ...signs].map((sign) => stage.key(`p${sign}1`))
    await acquireAll(
      store,
      keys.map((key) => ask(key)),
    )
    for (const sign of signs) {
      const prefix = stage.key(`p${sign}`)
      await assertListed(
        store,
        { prefix },
        keys.filter((key) => key.startsWith(prefix)),
      )
    }
  })

  test('tells upper from lower case in a prefix', async (stage) => {
    const store = await stage.client()
    const keys = ['Order:1', 'order:1', 'ORDER:1'].map((name) => stage.key(name))
    await acquireAll(
      store,
      keys.map((key) => ask(key)),
    )
    await assertListed(store, { prefix: stage.key('Order:') }, [keys[0] ?? ''])
    await assertListed(store, { prefix: stage.key('order:') }, [keys[1] ?? ''])
  })

  test('takes an exact key as it is written, and shows no key that it starts', async (stage) => {
    const store = await stage.client()
    const names = ['a', 'ab', 'a%', 'a_', 'a*', 'A', 'a ', 'a[b]', 'a\\b']
    await acquireAll(
      store,
      names.map((name) => ask(stage.key(name))),
    )
    for (const name of names) await heldRecord(store, stage.key(name))
    for (const name of ['a?', 'a.', 'a[a-c]', 'a\\', '']) {
      assert.equal(await recordOf(store, stage.key(name)), undefined)
    }
  })

  for (const limit of [1, 2, 3, 100]) {
    test(`visits each lock once in pages of ${limit}`, async (stage) => {
      const store = await stage.client()
      const names = ['b', 'B', 'a', 'ä', 'aa', 'a ', '\u{1f512}', '\uff5e', '10', '9', '_', '%', '\\']
      const keys = names.map((name) => stage.key(name))
      await acquireAll(
        store,
        keys.map((key) => ask(key)),
      )
      await grantTo(store, ask(stage.prefix.slice(0, -1)))
      await assertListed(store, { prefix: stage.prefix }, keys, limit)
    })
  }

  test('pages past expired and released locks', async (stage) => {
    const store = await stage.client()
    const asks = shuffled(stage.keys(24)).map((key, index) => {
      return ask(key, index % 3 === 0 ? { leaseMs: stage.settings.shortMs } : {})
    })
    await acquireAll(store, asks)
    const received = now()
    await releaseAll(
      store,
      asks.filter((_, index) => index % 3 === 1),
    )
    await stage.outlive(received)
    const held = asks.filter((_, index) => index % 3 === 2).map(({ key }) => key)
    for (const limit of [1, 2, 5]) await assertListed(store, { prefix: stage.prefix }, held, limit)
  })

  test('goes on after a page whose locks were released meanwhile', async (stage) => {
    const store = await stage.client()
    const asks = stage.keys(6).map((key) => ask(key))
    await acquireAll(store, asks)
    const seen: string[] = []
    for await (const page of pages(store, { prefix: stage.prefix }, 2)) {
      for (const { key } of page) {
        seen.push(key)
        await releaseOne(store, asks.find((wish) => wish.key === key) as Ask)
      }
    }
    assert.deepEqual(seen.toSorted(), asks.map(({ key }) => key).toSorted())
  })
}

async function assertListed(
  store: Store,
  query: Omit<ListQuery, 'limit'>,
  keys: readonly string[],
  limit = 100,
): Promise<void> {
  const seen = (await readAll(store, query, limit)).map(({ key }) => key)
  assert.deepEqual(seen.toSorted(), keys.toSorted(), `list of ${JSON.stringify(query)}, ${limit} a page`)
}

/** Every record that the pages of a query show, in their order. */
export async function readAll(
  store: Store,
  query: Omit<ListQuery, 'limit'>,
  limit: number,
): Promise<LockRecord[]> {
  const records: LockRecord[] = []
  for await (const page of pages(store, query, limit)) records.push(...page)
  return records
}

async function* pages(
  store: Store,
  query: Omit<ListQuery, 'limit'>,
  limit: number,
): AsyncGenerator<readonly LockRecord[]> {
  const visited = new Set<string>()
  let after: string | null = null
  do {
    const page = await store.list({ ...query, limit, ...(after === null ? {} : { after }) })
    assert.ok(page.locks.length <= limit, `${page.locks.length} locks on a page of ${limit}`)
    yield page.locks
    after = page.next
    if (after !== null) {
      assert.ok(!visited.has(after), 'paging must not come back to a place where it was')
      visited.add(after)
    }
  } while (after !== null)
}

/** For the guarantees: what is held under this test's keys. */
export async function heldKeys(stage: Stage, store: Store): Promise<string[]> {
  return (await readAll(store, { prefix: stage.prefix }, 100)).map(({ key }) => key)
}

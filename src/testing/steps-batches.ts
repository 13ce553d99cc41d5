import assert from 'node:assert/strict'
import {
  acquireAll,
  ask,
  assertDenial,
  assertGrant,
  assertReleased,
  holderNamed,
  releaseAll,
  renewal,
  renewAll,
  shuffled,
} from './claims.ts'
import type { Stage, Test } from './stage.ts'
import { readAll } from './steps-list.ts'
import type { Answer, Ask } from '../store.ts'

const MANY = 10_000
// One call moves a few megabytes; a small server on a busy machine may take seconds for it.
const LIMIT_MS = 90_000

/** Servers cap the number of parameters, the size of a statement, the depth of an expression. */
export function batchSteps(test: Test): void {
  test(
    `answers ${MANY} asks, renewals and releases of one call each in its place`,
    async (stage) => {
      const [a, b] = await stage.pair()
      const keys = shuffled(stage.keys(MANY))
      const asksA = keys.filter((_, index) => index % 3 === 0).map((key) => contextual(key, 'a'))
      const asksB = keys.map((key) => contextual(key, 'b'))

      for (const [index, answer] of (await acquireAll(a, asksA)).entries()) {
        assertGrant(answer, asksA[index]?.key ?? '')
      }
      const grants = checkAnswers(await acquireAll(b, asksB), asksB)
      await checkList(stage, grants)

      const rotate = (index: number): boolean => index % 3 === 2
      const renewals = asksB.map((wish, index) => renewal(wish, { rotate: rotate(index) }))
      for (const [index, answer] of (await renewAll(b, renewals)).entries()) {
        const before = grants.get(keys[index] ?? '')
        assert.equal(answer.renewed, before !== undefined, `renewal ${index}`)
        if (!answer.renewed || before === undefined) continue
        if (rotate(index)) assert.ok(answer.grant > before, `renewal ${index} must rotate`)
        else assert.equal(answer.grant, before, `renewal ${index} must keep its grant`)
      }

      for (const [index, answer] of (await releaseAll(b, asksB)).entries()) {
        assert.equal(answer.released, index % 3 !== 0, `release ${index}`)
      }
      for (const answer of await releaseAll(a, asksA)) assertReleased(answer, { wanted: true })
      assert.deepEqual([...(await a.list({ prefix: stage.prefix, limit: 1 })).locks], [])
    },
    LIMIT_MS,
  )
}

/** Names its own key as the reason, so that an answer in the wrong place shows. */
function contextual(key: string, by: string): Ask {
  return ask(key, { holder: holderNamed(by, `${by} ${key}`) })
}

/** Every third key is a's; the others are granted to b. Resolves to the grants of b by key. */
function checkAnswers(answers: readonly Answer[], asks: readonly Ask[]): Map<string, number> {
  const grants = new Map<string, number>()
  for (const [index, { key }] of asks.entries()) {
    const answer = answers[index] as Answer
    if (index % 3 === 0) assert.equal(assertDenial(answer, key).holder.context, `a ${key}`)
    else grants.set(key, assertGrant(answer, key).grant)
  }
  return grants
}

async function checkList(stage: Stage, grants: ReadonlyMap<string, number>): Promise<void> {
  const store = await stage.client()
  const records = await readAll(store, { prefix: stage.prefix }, MANY / 2)
  // Once, or on two pages: a server that grows its table meanwhile may show some again.
  assert.equal(new Set(records.map(({ key }) => key)).size, MANY)
  for (const { key, grant } of records) {
    assert.equal(grant, grants.get(key) ?? grant, `an answer carries the grant of another key than ${key}`)
  }
}

import assert from 'node:assert/strict'
import {
  acquireOne,
  AHEAD,
  ask,
  assertRising,
  grantTo,
  heldRecord,
  isGranted,
  releaseOne,
  renewal,
  renewOne,
} from './claims.ts'
import type { Test } from './stage.ts'
import { now } from './timing.ts'
import type { Ask } from '../store.ts'

/** G3: a fencing token protects only if a later grant of a key is always the greater one. */
export function grantSteps(test: Test): void {
  test('G3 grants rise over 100 releases and grants', async (stage) => {
    const store = await stage.client()
    const grants: number[] = []
    for (let round = 0; round < 100; round += 1) {
      const wish = ask(stage.key())
      grants.push((await grantTo(store, wish)).grant)
      await releaseOne(store, wish)
    }
    assertRising(grants, 'grants of one client')
  })

  test('G3 grants rise when two clients take turns', async (stage) => {
    const pair = await stage.pair()
    const grants: number[] = []
    for (let round = 0; round < 40; round += 1) {
      const store = round % 2 === 0 ? pair[0] : pair[1]
      const wish = ask(stage.key())
      grants.push((await grantTo(store, wish)).grant)
      await releaseOne(store, wish)
    }
    assertRising(grants, 'grants of two clients in turn')
  })

  test('G3 grants rise when clients race for the key', async (stage) => {
    const clients = await stage.clients(3)
    const grants: number[] = []
    for (let round = 0; round < 30; round += 1) {
      const asks = clients.map(() => ask(stage.key()))
      const answers = await Promise.all(clients.map((store, index) => acquireOne(store, asks[index] as Ask)))
      const granted = answers.filter(isGranted)
      assert.equal(granted.length, 1, `${granted.length} of 3 owners got the key`)
      grants.push(granted[0]?.grant ?? 0)
      const releases = await Promise.all(clients.map((store, index) => releaseOne(store, asks[index] as Ask)))
      assert.equal(releases.filter(({ released }) => released).length, 1)
    }
    assertRising(grants, 'grants of three clients in a race')
  })

  test('G3 grants rise past an expiry', async (stage) => {
    const [a, b] = await stage.pair()
    const first = await grantTo(a, ask(stage.key(), { leaseMs: stage.settings.shortMs }))
    await stage.outlive(now())
    const second = await grantTo(b, ask(stage.key()))
    assertRising([first.grant, second.grant], 'grants over an expiry')
  })

  test('G3 grants rise past an eviction', async (stage) => {
    const [a, b] = await stage.pair()
    const grants: number[] = []
    for (let round = 0; round < 5; round += 1) {
      const { grant } = await grantTo(a, ask(stage.key()))
      grants.push(grant)
      await b.evict(stage.key(), round % 2 === 0 ? grant : undefined)
    }
    assertRising(grants, 'grants over evictions')
  })

  test('G3 grants rise past rotations', async (stage) => {
    const store = await stage.client()
    const grants: number[] = []
    for (let round = 0; round < 5; round += 1) {
      const wish = ask(stage.key())
      grants.push((await grantTo(store, wish)).grant)
      for (let turn = 0; turn < 3; turn += 1) {
        const answer = await renewOne(store, renewal(wish, { rotate: true }))
        assert.ok(answer.renewed, 'a lease in force must be renewed')
        grants.push(answer.grant)
      }
      await releaseOne(store, wish)
    }
    assertRising(grants, 'grants over rotations')
  })

  test('G3 grants rise past a number that was raised far ahead of the clock', async (stage) => {
    const [a, b] = await stage.pair()
    const grants: number[] = []
    const raised = async (wish: Ask): Promise<void> => {
      const { grant } = await grantTo(a, wish)
      const answer = await renewOne(b, renewal(wish, { raiseTo: grant + AHEAD, leaseMs: wish.leaseMs }))
      assert.ok(answer.renewed, 'a lease in force must be renewed')
      grants.push(grant, answer.grant)
    }
    const released = ask(stage.key())
    await raised(released)
    await releaseOne(b, released)
    await raised(ask(stage.key()))
    await b.evict(stage.key())
    // Long enough to be raised before it has run out, also on a busy machine.
    await raised(ask(stage.key(), { leaseMs: stage.settings.shortMs * 5 }))
    await stage.outlive(now(), stage.settings.shortMs * 5)
    // Each must be remembered by itself: the clock is still behind.
    for (let round = 0; round < 2; round += 1) {
      const wish = ask(stage.key())
      grants.push((await grantTo(b, wish)).grant)
      await releaseOne(a, wish)
    }
    assertRising(grants, 'grants over raised numbers')
  })

  test('G3 grants rise for a new client after the old one closed', async (stage) => {
    const grants: number[] = []
    for (let round = 0; round < 3; round += 1) {
      const store = await stage.client()
      const wish = ask(stage.key())
      grants.push((await grantTo(store, wish)).grant)
      await releaseOne(store, wish)
      await store.close()
    }
    assertRising(grants, 'grants of one client after the other')
  })

  test("G3 a grant is no smaller than the store's clock in microseconds", async (stage) => {
    // So that numbers go on rising when the server has lost its records: emptied, restored, moved.
    const store = await stage.client()
    const { grant } = await grantTo(store, ask(stage.key()))
    const { since } = await heldRecord(store, stage.key())
    const clockUs = (since - 1 - stage.settings.toleranceMs) * 1000
    assert.ok(grant >= clockUs, `grant ${grant} is below the clock, ${clockUs} µs`)
  })
}

import { fileURLToPath } from 'node:url'
import { Redis } from 'ioredis'
import { expect, it } from 'vitest'
import { freshMongoDatabase } from '../servers/shared-mongo.ts'
import { freshDatabase } from '../servers/shared-postgres.ts'
import { freshPrefix } from '../servers/shared-redis.ts'
import { askFor, grantOf } from '../support/asks.ts'
import type { Call, Finds, Mode } from '../support/moving-child.ts'
import { houseAt, type HouseAddress, type MoveAddress } from '../support/moving-client.ts'
import { atEnd, atLast, until } from '../support/stage.ts'
import { TestProcess } from '../support/test-process.ts'

const COUNT = 5
const TURNS_BETWEEN = 4
const AN_HOUR = 3_600_000_000
const CHILD = fileURLToPath(new URL('../support/moving-child.ts', import.meta.url))

type Instance = TestProcess<Call['name']>

const redisHouse = (): HouseAddress => {
  const { url, prefix } = freshPrefix()
  return { kind: 'redis', at: { urls: [url], driver: 'ioredis', prefix } }
}
const postgresHouse = async (): Promise<HouseAddress> => ({
  kind: 'postgres',
  at: { url: await freshDatabase(), driver: 'pg' },
})

const mongoHouse = async (): Promise<HouseAddress> => ({
  kind: 'mongo',
  at: { ...(await freshMongoDatabase()), driver: 7 },
})

interface Move {
  readonly name: string
  readonly houses: () => Promise<MoveAddress>
  /** Whose clock is an hour ahead. */
  readonly ahead: 'from' | 'to'
}

const toMongo = {
  name: 'Redis to MongoDB',
  houses: async (): Promise<MoveAddress> => ({ from: redisHouse(), to: await mongoHouse() }),
}
const toPostgres = {
  name: 'Redis to PostgreSQL',
  houses: async (): Promise<MoveAddress> => ({ from: redisHouse(), to: await postgresHouse() }),
}
const moves: readonly Move[] = [
  { ...toMongo, ahead: 'to' },
  { ...toPostgres, ahead: 'from' },
]

/** The resource: in Redis, too, but out of the way of the locks. */
const { url, prefix } = freshPrefix()

// Starting them takes longer than most of a test.
const forkOne = (): Promise<Instance> => TestProcess.fork<Call['name']>(CHILD)
const fleet = await Promise.all(Array.from({ length: COUNT }, forkOne))
atLast(() => Promise.all(fleet.map((one) => one.end())))

/** As if the clock of a store were an hour ahead. */
async function setAhead(house: HouseAddress, keys: readonly string[]): Promise<void> {
  const store = await houseAt(house)
  await store.open()
  for (const key of keys) {
    const ask = askFor(key)
    const grant = await grantOf(store, ask)
    await store.renew([{ ...ask, raiseTo: grant + AN_HOUR }])
    await store.release([ask])
  }
  await store.close()
}

it.each(moves)(
  'G1 G3 a fleet moves from $name under load, one by one, and back: no key is held twice, no token falls (clock ahead: $ahead)',
  async ({ name, houses, ahead }) => {
    const address = await houses()
    const keys = ['a', 'b', 'c'].map((key) => `${prefix}:${name}:${ahead}:${key}`)
    await setAhead(address[ahead], keys)
    const resource = new Redis(url)
    atEnd(() => resource.disconnect())

    const finds = async (): Promise<Finds[]> => Promise.all(fleet.map((one) => one.call<Finds>('finds')))
    /**
     * Until every key had its turns. A step of a move that is over before the lease of one that was killed is over leaves
     * a key that no moving instance has taken, and that one's numbers go by the clocks: docs/migrating.md forbids it.
     */
    const goOn = async (): Promise<void> => {
      const turnsOf = async (): Promise<number[]> => {
        const found = await finds()
        return keys.map((key) => found.reduce((sum, { turns }) => sum + (turns[key] ?? 0), 0))
      }
      const goals = (await turnsOf()).map((before) => before + TURNS_BETWEEN)
      await until('more turns', async () => {
        const turns = await turnsOf()
        return goals.every((goal, index) => (turns[index] as number) >= goal)
      })
    }
    const moveAll = async (mode: Mode): Promise<void> => {
      for (const one of fleet) {
        await one.call('change', mode, address)
        await goOn()
      }
      expect((await finds()).flatMap(({ complaints }) => complaints)).toEqual([])
    }
    /** One that is killed, wherever it is, and what comes in its place. */
    const replace = async (index: number, mode: Mode): Promise<void> => {
      const doomed = fleet[index] as Instance
      const next = await forkOne()
      const pid = await doomed.call<number>('who')
      await doomed.end()
      for (const key of keys) {
        if ((await resource.get(`inside:${key}`)) === String(pid)) await resource.del(`inside:${key}`)
      }
      await next.call('start', url, mode, address, keys)
      fleet[index] = next
      await goOn()
    }

    await Promise.all(fleet.map((one) => one.call('start', url, 'from', address, keys)))
    await goOn()
    await moveAll('both')
    await replace(0, 'both')
    await moveAll('to')
    await goOn()
    await moveAll('both')
    await replace(1, 'from')
    await moveAll('from')

    const ended = await Promise.all(fleet.map((one) => one.call<Finds>('end')))
    expect(ended.flatMap(({ complaints }) => complaints)).toEqual([])
    for (const house of [address.from, address.to]) {
      const store = await houseAt(house)
      await store.open()
      await until('nothing left', async () => (await store.list({ limit: 1 })).locks.length === 0)
      await store.close()
    }
  },
  120_000,
)

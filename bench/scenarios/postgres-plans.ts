import type pg from 'pg'
import type { Ask } from '../../src/store.ts'
import { askValue, askValues, claimValues, renewalValues } from '../../src/stores/postgres/records.ts'
import { DEFAULT_NAMES } from '../../src/stores/postgres/schema.ts'
import { type Statement, statementsFor } from '../../src/stores/postgres/statements.ts'
import { importPostgres } from '../built.ts'
import { onServer, withDatabase } from '../postgres/database.ts'
import type { Samples } from '../throughput.ts'

const RECORDS = 100_000
/** A prepared statement is planned anew five times before the server may keep a plan. */
const TIMES = 12

const { acquireOne, acquire, renew, releaseOne, release } = statementsFor(DEFAULT_NAMES)

/** Prints how the server goes about each step, with one key and with 100, and measures the time it takes. */
export function plans(): Promise<Samples> {
  return withDatabase(async (url) => {
    const store = (await importPostgres()).postgresStore(url)
    await store.open()
    for (let i = 0; i < RECORDS; i += 1000) await store.acquire(asks(1000, i, 'before'))
    for (let i = 0; i < RECORDS; i += 1000) await store.release(asks(1000, i, 'before'))
    await store.close()
    return onServer(url, async (client) => {
      await client.query(`vacuum analyze ${DEFAULT_NAMES.table}`)
      for (const { name, text } of [acquireOne, acquire, renew, releaseOne, release])
        await client.query(`prepare ${name} as ${text}`)
      return { ...(await stepsWith(client, 1)), ...(await stepsWith(client, 100)) }
    })
  })
}

async function stepsWith(client: pg.Client, keys: number): Promise<Samples> {
  const times: [number[], number[], number[]] = [[], [], []]
  for (let i = 1; i <= TIMES; i += 1) {
    const all = asks(keys, i * keys, `owner ${i}`)
    const print = i === TIMES
    const [ask] = all
    if (!ask) return {}
    const asking = keys === 1 ? askValue(ask, null, false) : askValues(all, null, [])
    const releasing = keys === 1 ? [ask.key, ask.owner] : claimValues(all)
    const [taking, giving] = keys === 1 ? [acquireOne, releaseOne] : [acquire, release]
    times[0].push(await explain(client, 'acquire', taking, asking, keys, print))
    times[1].push(await explain(client, 'renew', renew, renewalValues(all), keys, print))
    times[2].push(await explain(client, 'release', giving, releasing, keys, print))
  }
  // Of those that were planned as in a program that has run for a while.
  const [acquires, renewals, releases] = times.map((each) => each.slice(TIMES / 2)) as typeof times
  return { [`acquire${keys}`]: acquires, [`renew${keys}`]: renewals, [`release${keys}`]: releases }
}

/** The keys are spread over the whole table. */
function asks(count: number, from: number, owner: string): Ask[] {
  const holder = { service: 'orders', instance: 'host-1:4711:a1b2c3', context: null }
  return Array.from({ length: count }, (_, i) => ({
    key: `order:${((from + i) * 7919) % RECORDS}`,
    owner,
    leaseMs: 30_000,
    holder,
  }))
}

async function explain(
  client: pg.Client,
  step: string,
  { name }: Statement,
  values: readonly (string | null)[],
  keys: number,
  print: boolean,
): Promise<number> {
  const literals = values.map((value) => (value === null ? 'null' : client.escapeLiteral(value)))
  const query = `explain (analyze, buffers) execute ${name}(${literals.join(', ')})`
  const { rows } = await client.query<{ 'QUERY PLAN': string }>(query)
  const lines = rows.map((row) => row['QUERY PLAN'])
  if (print)
    console.log(`\n${step}, ${keys === 1 ? 'one key' : `${keys} keys`}\n\n    ${lines.join('\n    ')}`)
  return Number(/Execution Time: ([\d.]+)/.exec(lines.join('\n'))?.[1])
}

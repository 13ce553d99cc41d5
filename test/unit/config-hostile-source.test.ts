import { describe, expect, it } from 'vitest'
import { once, refusal, start } from './support/config.ts'
import { Centre, stage } from './support/config-centre.ts'

const MANY = 10_000_000
const text = 'hunter2'.repeat(MANY / 7)

/** A file has at most 1 MiB. A source may give anything. */
const values: [string, unknown][] = [
  ['service', { service: text }],
  ['lease', { lease: text }],
  ['lease of digits', { lease: '1'.repeat(MANY) }],
  ['wait with a unit', { wait: `${'1'.repeat(MANY)}ms` }],
  ['poll.max', { poll: { max: text } }],
  ['a name', { [text]: 1 }],
  ['a name inside', { poll: { [text]: 1 } }],
  ['a name of controls', { ['\n'.repeat(MANY)]: 1 }],
  ['a pattern', { keys: { [text]: { lease: '1m' } } }],
  ['a pattern of stars', { keys: { ['*'.repeat(MANY)]: { lease: '1m' } } }],
  ['a pattern that is wrong inside', { keys: { [text]: { lease: text, [text]: 1 } } }],
  ['alerts.webhook', { alerts: { webhook: text, secret: 'x'.repeat(20) } }],
  ['alerts.secret', { alerts: { webhook: 'https://alerts', secret: text } }],
  ['a text instead of an object', text],
]

const stores: [string, unknown][] = [
  ['store', text],
  ['store of a scheme', `${text}:x@h`],
  ['store.url', { url: `redis://:${text}@h` }],
  ['store.prefix', { url: 'redis://h', prefix: text }],
  ['store.table', { url: 'postgres://h/d', table: text }],
  ['store.listen', { url: 'postgres://h/d', listen: `postgres://u:${text}@h` }],
  ['a name in store', { url: 'memory:', [text]: 1 }],
]

// What takes a time that grows faster than the text would not end within the limit of a test.
describe('10 MB from a source are refused, in a short message without them', () => {
  it.each([
    ...values.map(([name, value]) => [name, value]),
    ...stores.map(([name, store]) => [name, { store }]),
  ])('%s', async (_name, value) => {
    const message = await refusal({ source: once(value) })
    expect(message.length).toBeLessThan(2500)
    expect(message).not.toMatch(/hunter2|1111|\*{9}|\n/)
  })

  it.each(values)('as a change, and the last settings stay: %s', async (_name, value) => {
    const centre = new Centre({ lease: '10s' })
    const { errors, arrive, leaseOf } = await stage(centre)
    await arrive()
    centre.give(value)
    await arrive()
    expect(errors).toHaveLength(1)
    expect(errors[0]?.message.length).toBeLessThan(2500)
    expect(errors[0]?.message).not.toMatch(/hunter2|1111|\*{9}/)
    expect(await leaseOf('a')).toBe(10_000)
  })
})

it('what is long and right is as good as what is short', async () => {
  const keys = { [`${'x'.repeat(511)}*`]: { lease: '7s' } }
  const locks = await start({ source: once({ store: 'memory:', keys, service: 's'.repeat(200) }) })
  const lease = await locks.acquire('x'.repeat(511))
  expect((await locks.inspect(lease.key))?.leaseMs).toBe(7000)
})

/**
 * A few workers, and the dashboard and HTTP API of their locks:
 *
 *     npm run build && npx tsx examples/server/index.ts
 *
 * Open the address that it prints. Ctrl-C ends it. `LOCKS=redis://…` is any other store.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { createLocks } from '../../src/index.ts'
import { listenLocks } from '../../src/server/index.ts'

const locks = createLocks(process.env.LOCKS ?? 'memory:', { service: 'shop', lease: '10s', wait: '1m' })
const token = randomBytes(24).toString('base64url')
const { url } = await listenLocks(locks, {
  port: Number(process.env.PORT ?? 7373),
  token: { operator: token },
  observe: 'always',
  audit: ({ at, who, key, why, outcome }) =>
    console.log(`${at} ${who} ${key} ${outcome}: ${why ?? 'no reason'}`),
})
console.log(`${url}#token=${token}`)

const stop = new AbortController()
process.once('SIGINT', () => stop.abort())

async function work(name: string): Promise<void> {
  while (!stop.signal.aborted) {
    const order = `order:${Math.floor(Math.random() * 5)}`
    await locks.using(order, { context: name, onLost: 'ignore' }, (lease) =>
      setTimeout(500 + Math.random() * 4000, undefined, {
        signal: AbortSignal.any([lease.signal, stop.signal]),
      }).catch(() => undefined),
    )
  }
}

await Promise.all(['packing', 'billing', 'shipping'].map((name) => work(name)))
await locks.close()

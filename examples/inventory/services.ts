import { Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { answerErrors, bodyOf } from './answers.ts'
import { readBatch, readDeduct } from './requests.ts'
import type { StockRoom } from './stock-room.ts'

const MAX_BODY = 64 * 1024

/** The service that the stock belongs to. */
export function storageApp(room: StockRoom): Hono {
  const app = baseApp(room)
  app.post('/deduct', async (c) => {
    const order = readDeduct(await bodyOf(c), c.req.header('idempotency-key'), 'storage-deduct')
    const [sale] = await room.fulfil(order)
    return c.json(sale)
  })
  return app
}

/** Another one, which writes to the same table. */
export function businessApp(room: StockRoom): Hono {
  const app = baseApp(room)
  app.post('/direct-deduct', async (c) => {
    const order = readDeduct(await bodyOf(c), c.req.header('idempotency-key'), 'business-direct-deduct')
    const [sale] = await room.fulfil(order)
    return c.json(sale)
  })
  app.post('/batch', async (c) => {
    const order = readBatch(await bodyOf(c), c.req.header('idempotency-key'))
    return c.json({ results: await room.fulfil(order) })
  })
  return app
}

function baseApp(room: StockRoom): Hono {
  const app = new Hono()
  answerErrors(app)
  app.use(bodyLimit({ maxSize: MAX_BODY, onError: (c) => c.json({ status: 413, code: 'too-large' }, 413) }))
  app.get('/stock/:code', async (c) => {
    const code = c.req.param('code')
    return c.json({ commodityCode: code, count: await room.count(code) })
  })
  return app
}

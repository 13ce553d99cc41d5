import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import { type Context, Hono } from 'hono'
import { afterEach, describe, expect, it } from 'vitest'
import { fenceHeader, fencingToken, memoryFence } from '../../src/fence/index.ts'

interface Served {
  readonly url: string
  readonly written: string[]
}

const closers: (() => void)[] = []
afterEach(() => closers.splice(0).forEach((close) => close()))

async function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  closers.push(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const inHandler = memoryFence()

/** `/stock/:sku` is guarded at the door, `/late/:sku` by the handler itself. */
async function onExpress(): Promise<Served> {
  const written: string[] = []
  const app = express()
  const guarded = fenceHeader({ guard: memoryFence() })
  app.put(
    '/stock/:sku',
    guarded.express((req: express.Request<{ sku: string }>) => `stock:${req.params.sku}`),
    (req, res) => {
      written.push(`${req.params.sku} ${fencingToken(req)}`)
      res.send('done')
    },
  )
  const read = fenceHeader({ required: false })
  app.put('/late/:sku', read.express(), (req, res) => {
    inHandler.check(`late:${req.params.sku}`, fencingToken(req)!)
    written.push(`${req.params.sku} ${fencingToken(req)}`)
    res.send('done')
  })
  app.put('/fails', read.express(), () => {
    throw new Error('mine')
  })
  app.use(read.expressErrors())
  app.use(
    ((error, _req, res, _next) =>
      void res.status(500).send((error as Error).message)) as express.ErrorRequestHandler,
  )
  return { url: await listen(app), written }
}

async function onHono(): Promise<Served> {
  const written: string[] = []
  const app = new Hono()
  const guarded = fenceHeader({ guard: memoryFence() })
  app.put(
    '/stock/:sku',
    guarded.hono((c: Context) => `stock:${c.req.param('sku')}`),
    (c) => {
      written.push(`${c.req.param('sku')} ${fencingToken(c)}`)
      return c.text('done')
    },
  )
  const read = fenceHeader({ required: false })
  app.put('/late/:sku', read.hono(), async (c) => {
    await Promise.resolve()
    inHandler.check(`late:${c.req.param('sku')}`, fencingToken(c)!)
    written.push(`${c.req.param('sku')} ${fencingToken(c)}`)
    return c.text('done')
  })
  app.put('/fails', read.hono(), () => {
    throw new Error('mine')
  })
  app.onError((error, c) => c.text(error.message, 500, { 'x-from': 'onError' }))
  return { url: await listen(asListener((request) => app.fetch(request))), written }
}

async function onFetch(): Promise<Served> {
  const written: string[] = []
  const guarded = fenceHeader({ guard: memoryFence() })
  const skuOf = (request: Request): string => new URL(request.url).pathname.split('/')[2] ?? ''
  const write = (request: Request): Response => {
    written.push(`${skuOf(request)} ${fencingToken(request)}`)
    return new Response('done')
  }
  const stock = guarded.fetch(write, (request) => `stock:${skuOf(request)}`)
  const late = fenceHeader({ required: false }).fetch(async (request: Request) => {
    await Promise.resolve()
    if (request.url.endsWith('/fails')) throw new Error('mine')
    inHandler.check(`late:${skuOf(request)}`, fencingToken(request)!)
    return write(request)
  })
  const handler = (request: Request): Promise<Response> =>
    (new URL(request.url).pathname.startsWith('/stock') ? stock : late)(request).catch(
      (error: Error) => new Response(error.message, { status: 500 }),
    )
  return { url: await listen(asListener(handler)), written }
}

/** The least that puts a fetch handler behind a socket. */
function asListener(handler: (request: Request) => Response | Promise<Response>): RequestListener {
  return (req, res) => {
    const headers = new Headers()
    for (let i = 0; i < req.rawHeaders.length; i += 2)
      headers.append(req.rawHeaders[i]!, req.rawHeaders[i + 1]!)
    const request = new Request(`http://localhost${req.url}`, { method: req.method!, headers })
    void Promise.resolve(handler(request)).then(async (response) => {
      res.writeHead(response.status, Object.fromEntries(response.headers))
      res.end(await response.text())
    })
  }
}

const servers = [
  ['Express', onExpress],
  ['Hono', onHono],
  ['a fetch handler', onFetch],
] as const

describe.each(servers)('fenceHeader on %s', (_, serve) => {
  async function start(): Promise<Served & { put: (path: string, token?: string) => Promise<Response> }> {
    const served = await serve()
    const put = (path: string, token?: string): Promise<Response> =>
      fetch(`${served.url}${path}`, {
        method: 'PUT',
        headers: token === undefined ? {} : { 'x-fencing-token': token },
      })
    return { ...served, put }
  }

  it('writes for the newest holder, and answers 412 to a late one', async () => {
    const { put, written } = await start()
    expect((await put('/stock/7', '8')).status).toBe(200)
    expect((await put('/stock/7', '9')).status).toBe(200)
    const late = await put('/stock/7', '8')
    expect(late.status).toBe(412)
    expect(late.headers.get('content-type')).toBe('application/problem+json')
    expect(await late.json()).toMatchObject({
      status: 412,
      code: 'STALE_TOKEN',
      detail: expect.stringMatching(/\b8\b.*"stock:7".*\b9\b/),
    })
    expect((await put('/stock/7', '9')).status).toBe(200)
    expect((await put('/stock/8', '1')).status).toBe(200)
    expect(written).toEqual(['7 8', '7 9', '7 9', '8 1'])
  })

  it('answers 428 to a missing token and 400 to a malformed one', async () => {
    const { put, written } = await start()
    const missing = await put('/stock/7')
    expect(missing.status).toBe(428)
    expect(missing.headers.get('content-type')).toBe('application/problem+json')
    expect(missing.headers.get('cache-control')).toBe('no-store')
    expect(await missing.json()).toMatchObject({ title: 'Precondition Required' })
    for (const token of ['', 'nine', '0', '9223372036854775808', '8, 9']) {
      const malformed = await put('/stock/7', token)
      expect([token, malformed.status]).toEqual([token, 400])
      expect(await malformed.json()).toMatchObject({ title: 'Bad Request', status: 400 })
    }
    expect(written).toEqual([])
  })

  it('answers 412 when the handler itself finds the token stale', async () => {
    const { put, written } = await start()
    inHandler.forget('late:7')
    expect((await put('/late/7', '9')).status).toBe(200)
    const late = await put('/late/7', '8')
    expect(late.status).toBe(412)
    expect(late.headers.get('content-type')).toBe('application/problem+json')
    expect(late.headers.get('x-from')).toBeNull()
    expect(await late.json()).toMatchObject({ code: 'STALE_TOKEN' })
    expect(written).toEqual(['7 9'])
  })

  it('leaves other errors to the server', async () => {
    const { put } = await start()
    const failed = await put('/fails', '5')
    expect([failed.status, await failed.text()]).toEqual([500, 'mine'])
  })
})

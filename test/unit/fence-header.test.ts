import { describe, expect, it } from 'vitest'
import { LockError } from '../../src/errors.ts'
import { fenceHeader, type FenceHeaderOptions, fencingToken, memoryFence } from '../../src/fence/index.ts'

const INVALID = expect.objectContaining({ code: 'INVALID_OPTION' })
const pathOf = (request: Request): string => new URL(request.url).pathname

function put(token?: string, path = '/stock/7'): Request {
  return new Request(`http://localhost${path}`, {
    method: 'PUT',
    headers: token === undefined ? {} : { 'X-Fencing-Token': token },
  })
}

function served(options: FenceHeaderOptions): {
  send: (request: Request) => Promise<Response>
  seen: unknown[]
} {
  const seen: unknown[] = []
  const send = fenceHeader(options).fetch((request: Request) => {
    seen.push(fencingToken(request))
    return new Response('done')
  }, pathOf)
  return { send, seen }
}

describe('fenceHeader', () => {
  it('lets a request pass whose token is not stale, and hands the token on', async () => {
    const { send, seen } = served({ guard: memoryFence() })
    for (const token of ['5', '5', '9223372036854775807']) expect((await send(put(token))).status).toBe(200)
    expect(seen).toEqual([5n, 5n, 2n ** 63n - 1n])
  })

  it('answers 412 when the token is stale, and the handler does not run', async () => {
    const { send, seen } = served({ guard: memoryFence() })
    await send(put('9'))
    const response = await send(put('8'))
    expect(response.status).toBe(412)
    expect(response.headers.get('content-type')).toBe('application/problem+json')
    expect(await response.json()).toEqual({
      type: 'about:blank',
      title: 'Precondition Failed',
      status: 412,
      detail: expect.stringMatching(/\b8\b.*"\/stock\/7".*\b9\b/),
      code: 'STALE_TOKEN',
    })
    expect((await send(put('8', '/stock/8'))).status).toBe(200)
    expect(seen).toEqual([9n, 8n])
  })

  it('answers 428 when the token is missing, and nobody keeps that answer', async () => {
    const { send, seen } = served({ guard: memoryFence() })
    const response = await send(put())
    expect(response.status).toBe(428)
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(await response.json()).toMatchObject({
      status: 428,
      detail: expect.stringContaining('x-fencing-token'),
    })
    expect(seen).toEqual([])
  })

  it('lets a request without a token pass unchecked if none is required', async () => {
    const { send, seen } = served({ guard: memoryFence(), required: false })
    await send(put('9'))
    expect((await send(put())).status).toBe(200)
    expect((await send(put('8'))).status).toBe(412)
    expect(seen).toEqual([9n, null])
  })

  it.each([
    '',
    'x',
    '5n',
    '-5',
    '+5',
    '5.0',
    '1e3',
    '0',
    '05',
    '5, 6',
    '0x5',
    '٥',
    '9223372036854775808',
    '9'.repeat(400),
  ])('answers 400 to the token %j', async (token) => {
    const { send, seen } = served({ guard: memoryFence(), required: false })
    const headers = { get: () => token }
    const response = await fenceHeader({ required: false }).fetch(() => new Response())({ headers })
    expect(response.status).toBe(400)
    expect(response.headers.get('content-type')).toBe('application/problem+json')
    if (/^[ -~]*$/.test(token)) expect((await send(put(token))).status).toBe(400)
    expect(seen).toEqual([])
  })

  it('answers 400 to a request that names no possible resource', async () => {
    const { send } = served({ guard: memoryFence() })
    const response = await send(put('5', `/${'x'.repeat(600)}`))
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ detail: expect.stringMatching(/^resource .*512/) })
  })

  it('waits for a guard that has to ask', async () => {
    const guard = {
      check: async (resource: string, token: bigint) => {
        await Promise.resolve()
        if (token < 7n) throw new LockError('STALE_TOKEN', `too old for ${resource}`)
      },
    }
    const { send, seen } = served({ guard })
    expect((await send(put('6'))).status).toBe(412)
    expect((await send(put('7'))).status).toBe(200)
    expect(seen).toEqual([7n])
  })

  it('passes other errors of the guard and of the handler on', async () => {
    const broken = { check: () => Promise.reject(new Error('no database')) }
    await expect(served({ guard: broken }).send(put('5'))).rejects.toThrow('no database')
    const failing = fenceHeader().fetch(() => Promise.reject(new Error('mine')))
    await expect(failing(put('5'))).rejects.toThrow('mine')
  })

  it('answers 412 when the handler finds the token of the request stale', async () => {
    const guard = memoryFence()
    guard.check('stock', 9n)
    const send = fenceHeader().fetch(async (request: Request) => {
      await Promise.resolve()
      guard.check('stock', fencingToken(request)!)
      return new Response('done')
    })
    expect((await send(put('8'))).status).toBe(412)
    expect((await send(put('9'))).status).toBe(200)
  })

  it('answers 412 for the refusal of a guard that is not ours', async () => {
    const send = fenceHeader().fetch(() => Promise.reject(new LockError('STALE_TOKEN', 'late')))
    const response = await send(put('8'))
    expect(response.status).toBe(412)
    expect(await response.json()).toMatchObject({ code: 'STALE_TOKEN', detail: 'late' })
  })

  it('does not blame the request for a token of the handler', async () => {
    const guard = memoryFence()
    guard.check('ledger', 9n)
    const send = fenceHeader().fetch(() => {
      guard.check('ledger', 7n)
      return new Response('done')
    })
    await expect(send(put('8'))).rejects.toThrow(expect.objectContaining({ code: 'STALE_TOKEN' }))
  })

  it('passes everything else that the server gives along', async () => {
    const send = fenceHeader().fetch((request: Request, env: { name: string }, n: number) =>
      Response.json([fencingToken(request)?.toString(), env.name, n]),
    )
    expect(await (await send(put('5'), { name: 'x' }, 3)).json()).toEqual(['5', 'x', 3])
  })

  it('refuses options that would check nothing', () => {
    expect(() => fenceHeader({ guards: memoryFence() } as object)).toThrow(INVALID)
    expect(() => fenceHeader({ guard: {} as never })).toThrow(INVALID)
    expect(() => fenceHeader({ guard: null as never })).toThrow(INVALID)
    expect(() => fenceHeader({ required: 'no' as never })).toThrow(INVALID)
    const header = fenceHeader({ guard: memoryFence() })
    expect(() => header.fetch(() => new Response())).toThrow(INVALID)
    expect(() => header.express()).toThrow(INVALID)
    expect(() => header.hono()).toThrow(INVALID)
    expect(() => fenceHeader().express('stock' as never)).toThrow(INVALID)
  })

  it('fails if the resource is not named, rather than not to check', async () => {
    const send = fenceHeader({ guard: memoryFence() }).fetch(
      () => new Response(),
      () => undefined as never,
    )
    await expect(send(put('5'))).rejects.toThrow(INVALID)
  })

  it('knows no token of a request that it has not seen', () => {
    expect(() => fencingToken(put('5'))).toThrow(INVALID)
  })
})

it('Express: one who was answered meanwhile is not answered again', async () => {
  const sent: unknown[] = []
  const response = {
    headersSent: false,
    statusCode: 0,
    setHeader: () => sent.push('header'),
    end: () => sent.push('end'),
  }
  const guard = {
    check: async () => {
      response.headersSent = true
      throw new LockError('STALE_TOKEN', 'late')
    },
  }
  const passed: unknown[] = []
  const middleware = fenceHeader({ guard }).express(() => 'r')
  middleware({ headers: { 'x-fencing-token': '5' } }, response, (error) => passed.push(error))
  await new Promise((resolve) => setImmediate(resolve))
  expect({ sent, passed }).toEqual({ sent: [], passed: [] })
})

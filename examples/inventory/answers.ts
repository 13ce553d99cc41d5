import type { Context, Hono } from 'hono'
import { LockError } from '../../src/index.ts'
import { Refusal, StockUnavailable } from './refusal.ts'

interface Problem {
  readonly status: 400 | 404 | 409 | 412 | 422 | 423 | 500 | 503
  readonly code: string
  readonly detail: string
  /** Seconds after which it is worth to try again. */
  readonly retryAfter?: number
}

/** Statuses that a client can act on. Whatever it is, the order was rolled back and the lock given back. */
function problemOf(error: unknown): Problem {
  if (error instanceof Refusal) return { status: error.status, code: error.code, detail: error.message }
  if (error instanceof StockUnavailable)
    return { status: 503, code: 'stock-unavailable', detail: error.message, retryAfter: 2 }
  if (!(error instanceof LockError))
    return { status: 500, code: 'failed', detail: 'the order failed; nothing of it is stored' }
  const { code, message: detail } = error
  switch (code) {
    case 'LOCK_ACQUIRE_TIMEOUT':
      return { status: 423, code, detail, retryAfter: 1 }
    case 'STALE_TOKEN':
      return { status: 412, code, detail }
    // With `outcomeUnknown` it may be stored: the same Idempotency-Key finds out.
    case 'STORE_UNAVAILABLE':
    case 'LOCK_LOST':
    case 'CLOSED':
      return { status: 503, code, detail, retryAfter: 2 }
    default:
      return { status: 500, code, detail }
  }
}

export function answerErrors(app: Hono): void {
  app.onError((error, c) => {
    const { retryAfter, ...problem } = problemOf(error)
    if (problem.status === 500) console.error(error)
    if (retryAfter !== undefined) c.header('Retry-After', String(retryAfter))
    return c.json(problem, problem.status)
  })
  app.notFound((c) => c.json({ status: 404, code: 'no-such-path', detail: 'there is nothing here' }, 404))
}

export async function bodyOf(c: Context): Promise<unknown> {
  try {
    return await c.req.json()
  } catch {
    throw new Refusal(400, 'bad-request', 'the body is not JSON')
  }
}

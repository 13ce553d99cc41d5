import { LockError } from '../errors.ts'
import { isOfStore, publicMessage } from './public-message.ts'
import type { ProblemJson } from './wire.ts'

/** The server's own codes, next to those of LockError. */
const STATUS = {
  INVALID_REQUEST: 400,
  INVALID_LOCK_KEY: 400,
  INVALID_OPTION: 400,
  UNAUTHORIZED: 401,
  FORBIDDEN: 403,
  READ_ONLY: 403,
  NOT_FOUND: 404,
  NOT_HELD: 404,
  METHOD_NOT_ALLOWED: 405,
  MOVED_ON: 409,
  TOO_LARGE: 413,
  URL_TOO_LONG: 414,
  TOO_MANY_ATTEMPTS: 429,
  INTERNAL: 500,
  STORE_UNAVAILABLE: 503,
  AUDIT_FAILED: 503,
  FLEET_UNAVAILABLE: 503,
  TOO_MANY_STREAMS: 503,
  CLOSED: 503,
} as const

export type ProblemCode = keyof typeof STATUS

/** As RFC 9110 has them: a problem of type `about:blank` is titled by its status. */
const TITLES: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  409: 'Conflict',
  413: 'Content Too Large',
  414: 'URI Too Long',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
}

/** An answer that is not 2xx. */
export class Problem extends Error {
  readonly code: ProblemCode
  readonly headers: Readonly<Record<string, string>>

  constructor(code: ProblemCode, detail: string, headers: Readonly<Record<string, string>> = {}) {
    super(detail)
    this.code = code
    this.headers = headers
  }
}

/** Whatever was thrown. What is no problem and no bad input is shown to nobody: only `report` hears of it. */
export function asProblem(error: unknown, report: (error: unknown) => void): Problem {
  if (error instanceof Problem) return error
  const { code, message } = error instanceof LockError ? error : { code: null, message: '' }
  if (code === 'STORE_UNAVAILABLE' || (code === 'INVALID_OPTION' && isOfStore(message)))
    return new Problem('STORE_UNAVAILABLE', publicMessage(message))
  if (code === 'INVALID_LOCK_KEY' || code === 'INVALID_OPTION') return new Problem(code, message)
  if (code === 'CLOSED') return new Problem(code, 'the server is closing')
  report(error)
  return new Problem('INTERNAL', 'a mistake in the server; its log says more')
}

export function problemResponse({ code, message, headers }: Problem): Response {
  const status = STATUS[code]
  const body: ProblemJson = {
    type: 'about:blank',
    title: TITLES[status] ?? '',
    status,
    detail: message,
    code,
  }
  return new Response(JSON.stringify(body), {
    status,
    headers: {
      'content-type': 'application/problem+json',
      ...(status === 503 ? { 'retry-after': '2' } : {}),
      ...headers,
    },
  })
}

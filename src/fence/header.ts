import { describeError, LockError } from '../errors.ts'
import { checkFlag, checkNames } from '../option-check.ts'
import { type NodeResponse, type Problem, problem, responseOf, send } from './problem.ts'
import { checkResource, HIGHEST_TOKEN, invalid, isRefusalOf } from './verdict.ts'

const HEADER = 'x-fencing-token'

/** What `fenceHeader` asks before the handler runs: a `memoryFence()`, or a check of your own. */
export interface HeaderGuard {
  /** Throws or rejects with a LockError STALE_TOKEN to refuse. */
  check(resource: string, token: bigint): unknown
}

export interface FenceHeaderOptions {
  /** Without one, tokens are read only, and the handler checks them: in its transaction. */
  readonly guard?: HeaderGuard | undefined
  /** Refuse a request without a token. Default true; with false it is let through unchecked. */
  readonly required?: boolean | undefined
}

export interface FetchRequest {
  readonly headers: { get(name: string): string | null }
}

/** A request of Node's http server; Express and its like build on it. */
export interface NodeRequest {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
}

/** The part of a context of Hono that is needed. */
export interface HonoContext {
  readonly req: { header(name: string): string | undefined }
  readonly error: Error | undefined
  get res(): Response
  set res(response: Response | undefined)
}

/**
 * Middleware for three kinds of servers. `resource` names what a request is about to change; with a guard it
 * is needed. A refusal of the request's token by a guard in the handler is answered in the same way.
 */
export interface FenceHeader {
  /** Around a fetch handler. */
  fetch<R extends FetchRequest, A extends unknown[]>(
    handler: (request: R, ...rest: A) => Response | Promise<Response>,
    resource?: (request: R) => string,
  ): (request: R, ...rest: A) => Promise<Response>
  /** For Express, and whatever has its `(req, res, next)`. */
  express<R extends NodeRequest>(
    resource?: (request: R) => string,
  ): (request: R, response: NodeResponse, next: (error?: unknown) => void) => void
  /** For Express, after the routes: answers refusals that handlers ran into, and passes other errors on. */
  expressErrors(): (
    error: unknown,
    request: NodeRequest,
    response: NodeResponse,
    next: (error?: unknown) => void,
  ) => void
  hono<C extends HonoContext>(
    resource?: (context: C) => string,
  ): (context: C, next: () => Promise<void>) => Promise<Response | undefined>
}

/** By request, or by context of Hono; null if there was none. */
const tokens = new WeakMap<object, bigint | null>()

/** The token that came with a request, or null. Give what the handler got: a request, or Hono's context. */
export function fencingToken(request: object): bigint | null {
  const token = tokens.get(request)
  if (token === undefined)
    throw invalid('fencingToken: no fenceHeader() has seen this request; put it before the handler')
  return token
}

export function fenceHeader(options: FenceHeaderOptions = {}): FenceHeader {
  checkNames('fenceHeader', options, ['guard', 'required'])
  const required = checkFlag('fence: required', options.required, true)
  const { guard } = options
  if (guard !== undefined && typeof guard?.check !== 'function') {
    throw invalid('guard: give memoryFence(), or an object with check(resource, token)')
  }

  /** The answer if the request is to go no further. */
  async function stop<R extends object>(
    request: R,
    header: string | null | undefined,
    resource: ((request: R) => string) | undefined,
  ): Promise<Problem | null> {
    const token = parse(header ?? null, required)
    if (token !== null && typeof token !== 'bigint') return token
    tokens.set(request, token)
    if (!guard || !resource || token === null) return null
    const name: unknown = resource(request)
    if (typeof name !== 'string') throw invalid('the function that names the resource must return a string')
    try {
      checkResource(name)
    } catch (error) {
      // Made of what the request says, so it is the request that is wrong.
      return problem(400, describeError(error))
    }
    try {
      await guard.check(name, token)
      return null
    } catch (error) {
      if (error instanceof LockError && error.code === 'STALE_TOKEN') return stale(error)
      throw error
    }
  }

  async function pass<R extends NodeRequest>(
    request: R,
    response: NodeResponse,
    next: (error?: unknown) => void,
    resource: ((request: R) => string) | undefined,
  ): Promise<void> {
    let answered = false
    let failure: unknown
    try {
      const refusal = await stop(request, request.headers[HEADER]?.toString(), resource)
      answered = refusal !== null
      // Someone else may have answered meanwhile, such as a time limit.
      if (refusal && !response.headersSent) send(refusal, response)
    } catch (error) {
      answered = false
      failure = error
    }
    // Outside of the promise: what it throws is no rejection of ours.
    if (!answered) process.nextTick(next, failure)
  }

  function checkNamed(resource: unknown): void {
    if (resource !== undefined && typeof resource !== 'function') {
      throw invalid('fenceHeader: give a function that names the resource of a request')
    }
    if (guard && !resource)
      throw invalid('fenceHeader: with a guard, give a function that names the resource')
  }

  return {
    fetch(handler, resource) {
      checkNamed(resource)
      return async (request, ...rest) => {
        const refusal = await stop(request, request.headers.get(HEADER), resource)
        if (refusal) return responseOf(refusal)
        try {
          return await handler(request, ...rest)
        } catch (error) {
          const refusal = refusalOf(request, error)
          if (refusal) return responseOf(refusal)
          throw error
        }
      }
    },
    express(resource) {
      checkNamed(resource)
      return (request, response, next) => void pass(request, response, next, resource)
    },
    expressErrors() {
      // Express knows it by its four parameters.
      return (error, request, response, next) => {
        const refusal = response.headersSent ? null : refusalOf(request, error)
        if (refusal) send(refusal, response)
        else next(error)
      }
    },
    hono(resource) {
      checkNamed(resource)
      return async (context, next) => {
        const refusal = await stop(context, context.req.header(HEADER), resource)
        if (refusal) return responseOf(refusal)
        await next()
        const late = refusalOf(context, context.error)
        if (late) {
          // Else the headers of the answer that it replaces would stay.
          context.res = undefined
          context.res = responseOf(late)
        }
        return undefined
      }
    },
  }
}

function parse(header: string | null, required: boolean): bigint | null | Problem {
  if (header === null) {
    return required ? problem(428, `send the fencing token of your lock in the header ${HEADER}`) : null
  }
  const token = /^[1-9]\d{0,18}$/.test(header) ? BigInt(header) : null
  if (token !== null && token <= HIGHEST_TOKEN) return token
  return problem(400, `${HEADER} must be one fencing token: digits only, 1 to ${HIGHEST_TOKEN}`)
}

/** Only of the token that came with the request: a handler may run into refusals of its own locks as well. */
function refusalOf(request: object, error: unknown): Problem | null {
  const token = tokens.get(request) ?? null
  return token !== null && isRefusalOf(token, error) ? stale(error) : null
}

function stale(error: LockError): Problem {
  return problem(412, error.message, { code: error.code })
}

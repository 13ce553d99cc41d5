import { Hono } from 'hono'
import { describeError, LockError } from '../errors.ts'
import type { Locks } from '../locks.ts'
import { checkClient } from '../option-check.ts'
import { Assets } from './assets.ts'
import { Audit } from './audit.ts'
import { Feed } from './feed.ts'
import { Gate } from './gate.ts'
import { Observer } from './observer.ts'
import { checkServerOptions, type LockServerOptions, SERVER_OPTIONS, type ServerTerms } from './options.ts'
import { passOn } from './own-events.ts'
import type { Parts } from './parts.ts'
import { asProblem, Problem, problemResponse } from './problem.ts'
import { ROUTES } from './routes.ts'
import { StoreHealth } from './store-health.ts'
import { version as versionOf } from '../version.ts'

/** A fetch handler: for `mount` of Hono, `Deno.serve(server)`, `Bun.serve({ fetch: server.fetch })`; in Node, `listenLocks`. */
export interface LockServer {
  /** `env`: what the runtime passes along, which tells where the request comes from. */
  (request: Request, env?: unknown): Promise<Response>
  readonly fetch: (request: Request, env?: unknown) => Promise<Response>
  /** Ends all event streams; from now on it answers 503. Also when the client is closed. */
  close(): Promise<void>
}

/** The HTTP API and the dashboard of the store that `locks` is a client of. */
export function lockServer(locks: Locks, options: LockServerOptions = {}): LockServer {
  checkClient('lockServer', locks)
  return makeServer(locks, checkServerOptions(options, 'lockServer', SERVER_OPTIONS))
}

const MOST_URL = 8192

/** On every answer. Scripts and styles come from this server only, and no other page may show it in a frame. */
const HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
}

export function makeServer(locks: Locks, terms: ServerTerms): LockServer {
  const { env } = terms
  const version = versionOf()
  const feed = new Feed(env, version)
  const observer = new Observer(locks, env, feed)
  const report = (cause: unknown): void =>
    locks.report(
      new LockError('INVALID_OPTION', `the lock server failed: ${describeError(cause)}`, { cause }),
    )
  const parts: Parts = {
    locks,
    terms,
    feed,
    observer,
    health: new StoreHealth(locks, env),
    audit: new Audit(terms, report),
    assets: new Assets(),
    version,
    startedAt: env.now(),
  }
  const app = appOf(parts)
  const stopEvents = passOn(locks, env, feed, observer)
  const stopLooking = terms.always ? observer.watch() : () => {}
  let closed = false
  const close = async (): Promise<void> => {
    if (closed) return
    closed = true
    detach()
    stopEvents()
    stopLooking()
    feed.close()
  }
  const detach = locks.attach(close)
  const answer = async (request: Request, runtime?: unknown): Promise<Response> => {
    let response: Response
    try {
      if (closed) throw new Problem('CLOSED', 'the server is closing')
      response = await app.fetch(request, { runtime })
    } catch (error) {
      response = problemResponse(asProblem(error, report))
    }
    for (const [name, value] of Object.entries(HEADERS))
      if (!response.headers.has(name)) response.headers.set(name, value)
    return response
  }
  return Object.assign((request: Request, runtime?: unknown) => answer(request, runtime), {
    fetch: answer,
    close,
  })
}

type App = Hono<{ Bindings: { runtime: unknown } }>

function appOf(parts: Parts): App {
  // As it was sent: a key that is decoded too early may have anything in it.
  const app: App = new Hono({ getPath: ({ url }) => new URL(url).pathname })
  const gate = new Gate(parts.terms)
  for (const { method, path, access, handle } of ROUTES) {
    app.on(method, path, (context) => {
      const { raw: request } = context.req
      const url = checkUrl(request)
      const visitor = gate.admit(request, url, context.env.runtime, access)
      // To Hono a HEAD is a GET without the body, which would leave a stream open that nobody reads.
      if (request.method === 'HEAD' && path === '/api/events') throw notAllowed(['GET'])
      checkNoBody(request)
      return handle(parts, { request, url, visitor })
    })
  }
  for (const path of new Set(ROUTES.map((route) => route.path))) {
    const methods = ROUTES.filter((route) => route.path === path).map(({ method }) => method)
    app.all(path, () => {
      throw notAllowed(methods)
    })
  }
  app.notFound(() => {
    throw new Problem('NOT_FOUND', 'there is nothing here; see /openapi.json')
  })
  app.onError((error) => {
    throw error
  })
  return app
}

function checkUrl({ url: text }: Request): URL {
  if (text.length > MOST_URL) throw new Problem('URL_TOO_LONG', `a URL has at most ${MOST_URL} characters`)
  const url = new URL(text)
  try {
    // What cannot be decoded would arrive as another key.
    decodeURIComponent(url.pathname)
    decodeURIComponent(url.search)
  } catch {
    throw new Problem('INVALID_REQUEST', 'the URL is not UTF-8 in percent-encoding')
  }
  return url
}

function checkNoBody({ headers }: Request): void {
  if (headers.has('transfer-encoding') || (headers.get('content-length') ?? '0') !== '0')
    throw new Problem('TOO_LARGE', 'no request here has a body', { connection: 'close' })
}

function notAllowed(methods: readonly string[]): Problem {
  return new Problem('METHOD_NOT_ALLOWED', `use ${methods.join(' or ')}`, { allow: methods.join(', ') })
}

import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { getRequestListener } from '@hono/node-server'
import { LockError } from '../errors.ts'
import type { Locks } from '../locks.ts'
import { checkClient } from '../option-check.ts'
import { isLoopbackName } from './hosts.ts'
import { makeServer } from './lock-server.ts'
import { checkServerOptions, type LockServerOptions, SERVER_OPTIONS } from './options.ts'
import { Problem, problemResponse } from './problem.ts'

/** Options of `listenLocks`. */
export interface ListenOptions extends LockServerOptions {
  /** Default 127.0.0.1. Another than this machine's own needs a token. */
  readonly host?: string | undefined
  /** Default 7373. 0: any that is free. */
  readonly port?: number | undefined
}

/** What `listenLocks` gives. */
export interface ListeningLockServer {
  /** `http://127.0.0.1:7373/` */
  readonly url: string
  /** Ends all connections. Also when the client is closed. */
  close(): Promise<void>
}

/** A thousand event streams, and as many again for all else. */
const MOST_CONNECTIONS = 2000
const MOST_HEADER_BYTES = 16 * 1024
const HEADERS_MS = 10_000
const REQUEST_MS = 30_000
/** A connection on which nothing moves; an event stream has a sign of life each 15 s. */
const IDLE_MS = 60_000

/** `lockServer` as a server of its own, for Node. Resolves when it listens. */
export async function listenLocks(locks: Locks, options: ListenOptions = {}): Promise<ListeningLockServer> {
  const terms = checkServerOptions(options, 'listenLocks', [...SERVER_OPTIONS, 'host', 'port'])
  const { host = '127.0.0.1', port = 7373 } = options
  if (typeof host !== 'string' || !/^[\w.:-]{1,253}$/.test(host))
    throw invalid('host: give an address or a name of this machine')
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw invalid('port: give a number from 0 to 65535')
  if (terms.tokens.size === 0 && !isLoopbackName(host))
    throw invalid(`host: to be reached from elsewhere than this machine, under ${host}, it needs a token`)
  checkClient('listenLocks', locks)
  const handler = makeServer(locks, terms)
  const server = nodeServer(handler.fetch)
  const close = async (): Promise<void> => {
    detach()
    await handler.close()
    await closeServer(server)
  }
  const detach = locks.attach(close)
  try {
    await listening(server, port, host)
  } catch (error) {
    await close()
    throw error
  }
  const { port: bound } = server.address() as AddressInfo
  return { url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}/`, close }
}

function nodeServer(fetch: (request: Request, env?: unknown) => Promise<Response>): Server {
  const listener = getRequestListener(fetch, {
    // This is a library: the globals of its process are not its own.
    overrideGlobalObjects: false,
    // What is no URL never becomes a Request.
    errorHandler: () => problemResponse(new Problem('INVALID_REQUEST', 'the request line or Host is wrong')),
  })
  const server = createServer(
    {
      maxHeaderSize: MOST_HEADER_BYTES,
      headersTimeout: HEADERS_MS,
      requestTimeout: REQUEST_MS,
      keepAliveTimeout: 5000,
      // Without one it is refused all the same, as a problem.
      requireHostHeader: false,
      noDelay: true,
    },
    (incoming, outgoing) => void listener(incoming, outgoing),
  )
  server.on('clientError', refuse)
  server.maxConnections = MOST_CONNECTIONS
  server.setTimeout(IDLE_MS)
  return server
}

/** What is not HTTP never becomes a request. */
function refuse({ code }: NodeJS.ErrnoException, socket: Duplex & { readonly bytesWritten?: number }): void {
  // In the middle of an answer nothing can be said any more.
  if (!socket.writable || socket.bytesWritten !== 0) return void socket.destroy()
  const [status, title] = REFUSALS[code ?? ''] ?? [400, 'Bad Request']
  const detail = 'the request is not HTTP as it should be'
  const body = JSON.stringify({ type: 'about:blank', title, status, detail, code: 'INVALID_REQUEST' })
  socket.end(
    `HTTP/1.1 ${status} ${title}\r\nConnection: close\r\nContent-Type: application/problem+json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
}

const REFUSALS: Readonly<Record<string, readonly [number, string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'Request Header Fields Too Large'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'Request Timeout'],
}

function listening(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const failed = (cause: NodeJS.ErrnoException): void => {
      const why = cause.code === 'EADDRINUSE' ? 'it is in use; give another, or 0 for any' : cause.message
      reject(new LockError('INVALID_OPTION', `listenLocks: port ${port} of ${host}: ${why}`, { cause }))
    }
    // With its client, which was closed meanwhile. It then neither listens nor fails.
    const closed = (): void => reject(new LockError('CLOSED', 'listenLocks: the client was closed'))
    server.once('error', failed)
    server.once('close', closed)
    server.listen(port, host, () => {
      server.off('error', failed)
      server.off('close', closed)
      // A connection that could not be taken, as without file descriptors, is one connection less.
      server.on('error', () => {})
      resolve()
    })
  })
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}

function invalid(message: string): LockError {
  return new LockError('INVALID_OPTION', `listenLocks: ${message}`)
}

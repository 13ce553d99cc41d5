import type { RedisClient } from './client.ts'

/**
 * Below core's limit for a call, 3 s by default, so that the caller learns what was in the way. A store does not know
 * that limit: a longer one does not lengthen this.
 */
export const CONNECT_LIMIT_MS = 2500

/** What a package has made of a URL. */
export interface Opened {
  readonly client: RedisClient
  /** Connects if need be. */
  readonly ready: () => Promise<void>
}

/** `cause` if the client said so itself. */
export function unreachable(tls: boolean, cause?: unknown): Error {
  const speaks = tls ? '; check also that the server speaks TLS there' : ''
  const message = `no connection within ${CONNECT_LIMIT_MS} ms${speaks}`
  return Object.assign(new Error(message, cause === undefined ? undefined : { cause }), { code: 'ETIMEDOUT' })
}

import { setTimeout as pause } from 'node:timers/promises'
import type { Deadline } from './deadline.ts'

/** As often, and as far apart, as ioredis itself tries a command that is sent elsewhere. */
const MAX_REDIRECTIONS = 16
/** While a slot is on its way and its keys are on either side, or nobody has it. */
const TRY_AGAIN_MS = 100
/** Nothing was run. */
const HINT = /^(MOVED|ASK|TRYAGAIN|CLUSTERDOWN)\b(?: \d+ (\S+))?/

/**
 * Follows what the nodes of a cluster say, for a while. Whatever `send` did before such an error had no effect. Without
 * `follow`, the client has followed MOVED and ASK by itself, and given up.
 */
export async function redirected<T>(
  deadline: Deadline,
  send: () => Promise<T>,
  follow?: (kind: string, address: string) => Promise<unknown>,
): Promise<T> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await send()
    } catch (error) {
      const last = lastOf(error)
      const [, kind = '', address = ''] = HINT.exec(last instanceof Error ? last.message : '') ?? []
      if (kind === '') throw error
      const waits = kind === 'TRYAGAIN' || kind === 'CLUSTERDOWN'
      if (tries < MAX_REDIRECTIONS) {
        await Promise.all([waits ? pause(TRY_AGAIN_MS) : undefined, follow?.(kind, address)])
      }
      if (tries === MAX_REDIRECTIONS || !(waits || follow) || deadline.isOver) {
        throw new Error(`too many redirections. Last error: ${String(last)}`, { cause: error })
      }
    }
  }
}

/** Version 6 of node-redis wraps the last of too many; 5 throws it as it came. */
function lastOf(error: unknown): unknown {
  const wraps = error instanceof Error && error.message === 'Too many Cluster redirections'
  return wraps ? error.cause : error
}

import { describeError, LockError } from '../../errors.ts'

/**
 * A slot is on its way, and several of its keys are asked for at once. A client that follows each hint goes to and fro
 * between its two nodes: which of the three it hears last is chance.
 */
const MOVING = /\bTRYAGAIN\b|redirections\. Last error: \w+: (MOVED|ASK)\b/

// What a server says begins with a code; system calls have codes of their own; the rest is what clients say.
const REMEDIES: readonly (readonly [RegExp, string])[] = [
  [
    /^(WRONGPASS|NOAUTH|ERR invalid password|ERR AUTH)/,
    'the password is wrong or missing; check user and password',
  ],
  [
    /^(NOPERM|ERR The user executing the script can't)/,
    'the user lacks a right; `docs/stores/redis.md` has the rule for it',
  ],
  [
    /^READONLY/,
    'the server is a replica; connect to the master, through Sentinel or Cluster if there is one',
  ],
  [/^OOM/, 'the server is out of memory (`maxmemory`); it can give keys back but grants none'],
  [/^LOADING/, 'the server has started and is reading its data'],
  [/^MASTERDOWN/, 'the replica has lost its master'],
  [/^MISCONF/, 'the server cannot save its data and refuses to write; look in its log'],
  [/^NOREPLICAS/, 'the server has fewer replicas than `min-replicas-to-write`'],
  [/\bCLUSTERDOWN\b/, 'the cluster does not serve all slots'],
  [MOVING, 'a slot of the cluster is being moved; it will be served when it has arrived'],
  [/^(CROSSSLOT|MOVED|ASK)\b/, 'the server is part of a cluster; give a client made for a cluster'],
  [/^(BUSY|UNKILLABLE)/, "somebody else's script keeps the server busy"],
  [/^WRONGTYPE/, 'the name is taken by something that is not of holdfast; choose another `prefix`'],
  [/^ERR (invalid )?DB index/, 'there is no database of that number'],
  [/^ERR unknown command/, 'the server is older than Redis 6.2, or not a Redis'],
  [
    /max retries per request/,
    'the client could not connect in time; check host and port, and that the server runs',
  ],
  [/ECONNREFUSED/, 'nothing listens there; check host and port, and that the server runs'],
  [/ENOTFOUND|EAI_AGAIN/, 'the host name cannot be looked up; check it'],
  [
    /ECONNRESET|EPIPE|Socket closed|Connection is closed|Stream isn't writeable|Disconnects client/,
    'the connection was cut, or the client given to the store was closed',
  ],
  [/ETIMEDOUT|EHOSTUNREACH|ENETUNREACH/, 'the server cannot be reached; check host, port and firewall'],
  [
    /SSL|TLS|wrong version number|packet length too long/i,
    'TLS was refused; use rediss:// only where the server speaks TLS',
  ],
]

export function isMoving(error: unknown): boolean {
  return MOVING.test(describeError(error))
}

/** What the caller sees: what is wrong, and what to do. */
export function asLockError(error: unknown): LockError {
  if (error instanceof LockError) return error
  const text = describeError(error)
  const why = REMEDIES.find(([pattern]) => pattern.test(text))?.[1]
  return new LockError('STORE_UNAVAILABLE', `the redis store failed: ${why ? `${why} (${text})` : text}`, {
    cause: error,
  })
}

export function tooFewReplicas(seen: number, wanted: number): LockError {
  return new LockError(
    'STORE_UNAVAILABLE',
    `the redis store cannot rely on it: ${seen} of ${wanted} replicas had it in time`,
  )
}

export function closedError(): LockError {
  return new LockError('CLOSED', 'the redis store is closed; create a new one')
}

/** Shutting down, KILL, or a session that was idle for too long: with this the server ends the connection. */
const FAREWELLS = new Set([1053, 1927, 4031])
/** The server, or the session, has become read-only, as after a fail-over. */
const READ_ONLY = new Set([1290, 1792, 1836])

/**
 * The server's number for an error; 0 for what the driver or the network came up with. The drivers have numbers of their
 * own, beyond those of the server or below zero, and only with what the server said comes a state: empty, in mysql2, if
 * that was said before the greeting, as 1040 is.
 */
export function numberOf(error: unknown): number {
  const { errno, sqlState } = error instanceof Error ? (error as { errno?: unknown; sqlState?: unknown }) : {}
  const isServers =
    typeof errno === 'number' && errno >= 1000 && errno < 45_000 && typeof sqlState === 'string'
  return isServers ? errno : 0
}

/**
 * Whether the connection is gone, in the words of the server, of the network or of the driver. Only what says so: a
 * transaction whose connection is gone stores nothing, and that is told to its caller.
 */
export function isGone(error: unknown): error is Error {
  if (!(error instanceof Error)) return false
  const { code, fatal } = error as { code?: unknown; fatal?: unknown }
  if (FAREWELLS.has(numberOf(error)) || fatal === true) return true
  return typeof code === 'string' && /^(PROTOCOL_|E[A-Z]+$|ER_SOCKET|ER_CMD_)/.test(code)
}

/**
 * Whether a connection of a pool should be closed rather than used again: if it is gone, and also in doubt, which costs
 * no more than a new one. Nor is a read-only server of use: the next connection may lead to the new primary, for which
 * a pool of mysql2 closes its connections, too.
 */
export function isSpent(error: unknown): boolean {
  const number = numberOf(error)
  return number === 0 || READ_ONLY.has(number) || isGone(error)
}

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
 * Whether the connection is gone. Only what says so: a transaction whose connection is gone stores nothing, and that is
 * told to its caller. Both drivers call each loss fatal, whatever its code; one of the network alone may come from a file
 * or a stream that a statement reads. What the server said goes by its number: `mariadb` calls fatal what has a certain
 * SQLSTATE, as KILL QUERY and a limit of time have, and goes on with the connection.
 */
export function isGone(error: unknown): error is Error {
  const number = numberOf(error)
  if (number !== 0) return FAREWELLS.has(number)
  return error instanceof Error && (error as { fatal?: unknown }).fatal === true
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

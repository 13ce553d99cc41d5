import { heldUntil } from '../checks/held.ts'
import type { Attempt, Round } from '../checks/round.ts'
import type { Span } from '../checks/span.ts'
import type { Operation } from './linearizable.ts'
import type { LockStep } from './locks.ts'

/** What happened to one key between two moments at which nobody held it. */
export interface Piece extends Span {
  readonly key: string
  readonly operations: readonly (Operation<LockStep> & { readonly nested: boolean })[]
  readonly workers: readonly string[]
}

interface Hold extends Span {
  readonly attempt: Attempt
  readonly acquire: Operation<LockStep>
  readonly release: Operation<LockStep>
}

/**
 * The operations of each key, in pieces that can be checked on their own.
 *
 * That is exact: whoever still asked when nobody held the key, and got it later, has no release before that moment,
 * so nobody else did anything between its turn and that moment, and it may as well have had its turn after it. Asks
 * that were refused can only forbid, never explain, so they are left out.
 */
export function pieces(round: Round): Piece[] {
  const holds = new Map<string, Hold[]>()
  const seen = lastSeen(round.attempts)
  for (const attempt of round.attempts) {
    attempt.keys.forEach((key, i) => {
      const token = attempt.tokens[i]
      const seenAt = seen.get(`${attempt.by} ${token} ${key}`)
      const hold = holdOf(attempt, token, attempt.how === 're-enter' ? heldUntil(attempt) : (seenAt ?? null))
      if (!hold) return
      const known = holds.get(key)
      if (known) known.push(hold)
      else holds.set(key, [hold])
    })
  }
  return [...holds].flatMap(([key, ofKey]) => cut(ofKey).map((piece) => asPiece(key, piece)))
}

/** By worker, token and key. Who enters again inside a lease and sees it held sees the whole of it held. */
function lastSeen(attempts: readonly Attempt[]): Map<string, number> {
  const seen = new Map<string, number>()
  for (const attempt of attempts) {
    const until = heldUntil(attempt)
    if (until === null) continue
    attempt.keys.forEach((key, i) => {
      const id = `${attempt.by} ${attempt.tokens[i]} ${key}`
      seen.set(id, Math.max(until, seen.get(id) ?? 0))
    })
  }
  return seen
}

function holdOf(attempt: Attempt, fence: bigint | undefined, seenAt: number | null): Hold | null {
  const { by, askedAt, grantedAt, releaseAt, released } = attempt
  if (grantedAt === null || fence === undefined) return null
  const client = `${by} ${fence}`
  const acquire = { from: askedAt, to: grantedAt, does: { is: 'acquire', client, fence } } as const
  const does = { is: 'release', client, fence } as const
  let release: Operation<LockStep>
  if (released?.ok && releaseAt !== null) release = { from: releaseAt, to: released.at, does }
  // Lost, or its process died: given back at an unknown time after it was last seen held. The first such moment is as
  // good as any later one, as until then nobody else could do a thing.
  else if (seenAt !== null) release = { from: seenAt, to: seenAt, does }
  else release = { ...acquire, does }
  return { attempt, acquire, release, from: grantedAt, to: release.to }
}

function cut(holds: readonly Hold[]): Hold[][] {
  const result: Hold[][] = []
  let end = -Infinity
  for (const hold of holds.toSorted((a, b) => a.from - b.from)) {
    if (hold.from > end) result.push([])
    result.at(-1)?.push(hold)
    end = Math.max(end, hold.to)
  }
  return result
}

function asPiece(key: string, holds: readonly Hold[]): Piece {
  return {
    key,
    from: holds.reduce((least, { acquire }) => Math.min(least, acquire.from), Infinity),
    to: holds.reduce((most, { to }) => Math.max(most, to), -Infinity),
    workers: holds.map(({ attempt }) => attempt.by),
    operations: holds.flatMap(({ attempt, acquire, release }) => {
      const nested = attempt.how === 're-enter'
      return [
        { ...acquire, nested },
        { ...release, nested },
      ]
    }),
  }
}

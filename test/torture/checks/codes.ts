import type { Findings } from './findings.ts'
import type { Attempt, Round } from './round.ts'

const ALWAYS = ['LOCK_ABORTED', 'STORE_UNAVAILABLE'] as const
const WAITED = [...ALWAYS, 'LOCK_ACQUIRE_TIMEOUT'] as const

/**
 * What an ask may be refused with. A section tells of a loss by its own rejection, also before its body has begun. To enter
 * again nobody waits, as the workers do it: only a loss of the lease around it is in the way.
 */
const REFUSALS: Readonly<Record<Attempt['how'], readonly string[]>> = {
  acquire: WAITED,
  several: WAITED,
  try: [...ALWAYS, 'busy'],
  using: [...WAITED, 'LOCK_LOST'],
  're-enter': ['LOCK_LOST'],
}

/** What the end of a lease may be rejected with: a loss is a value of `release()`, and an error only of a section. */
const ENDS: Readonly<Record<Attempt['how'], string>> = {
  acquire: 'LOCK_RELEASE_FAILED',
  several: 'LOCK_RELEASE_FAILED',
  try: 'LOCK_RELEASE_FAILED',
  using: 'LOCK_LOST',
  're-enter': 'LOCK_LOST',
}

/** An error of this kind is a mistake in a program, whatever the fault was: of holdfast or of a driver. */
const MISTAKE = /\b(Type|Reference|Range|Syntax)Error\b/

/** Every rejection says what has happened, by a code that fits. */
export function codes(round: Round, findings: Findings): void {
  for (const { by, how, keys, askedAt, refused, released } of round.attempts) {
    const where = { key: keys[0] ?? null, from: askedAt, workers: [by] }
    const what = `${by} (${how} of "${keys.join('", "')}")`
    if (refused && !REFUSALS[how].includes(refused.code))
      findings.fail('G7', `${what} was refused with ${refused.code}`, { ...where, to: refused.at })
    if (released && released.code !== null && released.code !== ENDS[how])
      findings.fail('G6', `${what} ended with ${released.code}`, { ...where, to: released.at })
  }
  for (const { at, by, text } of round.store.errors) {
    if (MISTAKE.test(text))
      findings.fail('G7', `a call of ${by} failed by ${text}`, { from: at, workers: [by] })
  }
}

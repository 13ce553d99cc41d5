import type { Findings } from './findings.ts'
import type { Attempt, Round } from './round.ts'

/**
 * Who acts, or writes, does so under the token that it was given with the lease, and the store gave it the number in that.
 * The token of a lease stays: no worker asks for one that rotates, and who gets a key by hand-off has a lease of its own.
 */
export function ownToken(round: Round, findings: Findings): void {
  for (const attempt of round.attempts) {
    const { by, keys, tokens, acts, grantedAt } = attempt
    keys.forEach((key, i) => {
      const other = grantedAt === null ? null : givenToOther(round, attempt, i)
      if (other === null) return
      const message = `${by} was granted "${key}" with token ${tokens[i]}, whose number the store gave to ${other}`
      findings.fail('G3', message, { key, from: grantedAt ?? 0, workers: [by, other] })
    })
    for (const { at, key, token } of acts) {
      if (isGiven(attempt, key, token, at)) continue
      const message = `${by} acted on "${key}" under token ${token}, which its lease was not given`
      findings.fail('G3', message, { key, from: at, workers: [by] })
    }
  }
  for (const { at, worker, id, key, token } of round.written) {
    const attempt = round.attempt(worker, id)
    if (attempt && isGiven(attempt, key, token, at)) continue
    const message = `${worker} wrote to "${key}" under token ${token}, which its lease was not given`
    findings.fail('G3', message, { key, from: at, workers: [worker] })
  }
}

function isGiven({ keys, tokens, grantedAt }: Attempt, key: string, token: string, at: number): boolean {
  return grantedAt !== null && grantedAt <= at && tokens[keys.indexOf(key)] === BigInt(token)
}

/** One that nobody was given is told by G2. */
function givenToOther({ store }: Round, { by, keys, tokens }: Attempt, index: number): string | null {
  const grant = store.grant(keys[index] ?? '', Number((tokens[index] ?? 0n) / 1024n))
  return grant && grant.owner.by !== by ? grant.owner.by : null
}

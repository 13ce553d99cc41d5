import type { Findings } from './findings.ts'
import type { Round } from './round.ts'

/** Who enters again gets the token of the lease around it, and the store is not asked. */
export function reEntry(round: Round, findings: Findings): void {
  const inner = round.attempts.filter(({ how, grantedAt }) => how === 're-enter' && grantedAt !== null)
  if (inner.length === 0) return
  const tokens = new Set<string>()
  for (const { by, how, keys, tokens: own } of round.attempts) {
    if (how !== 're-enter') keys.forEach((key, i) => tokens.add(`${by} ${own[i]} ${key}`))
  }
  const asks = new Map<string, number[]>()
  for (const { by, key, steps } of round.store.owners.values()) {
    const times = asks.get(`${by} ${key}`) ?? []
    asks.set(`${by} ${key}`, times)
    for (const { step, sentAt } of steps) if (step === 'acquire') times.push(sentAt)
  }
  for (const { by, keys, tokens: own, askedAt, grantedAt } of inner) {
    const key = keys[0] ?? ''
    const to = grantedAt ?? askedAt
    const where = { key, from: askedAt, to, workers: [by] }
    if (!tokens.has(`${by} ${own[0]} ${key}`)) {
      findings.fail(
        'G10',
        `${by} entered "${key}" again with token ${own[0]}, which no lease around it has`,
        where,
      )
    }
    if (asks.get(`${by} ${key}`)?.some((at) => at > askedAt && at < to)) {
      findings.fail('G10', `${by} asked the store for "${key}" to enter it again`, where)
    }
  }
}

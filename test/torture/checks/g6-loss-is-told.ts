import type { Findings } from './findings.ts'
import { releasesOf } from './releases.ts'
import type { Round } from './round.ts'
import type { Step } from './store-view.ts'

/**
 * No end says that all was well, neither `release()` nor the section, to who had word of the loss before, or where the
 * store said no to the release.
 */
export function lossIsTold(round: Round, findings: Findings): void {
  const last = lastTokens(round)
  for (const attempt of round.attempts) {
    const { by, how, keys, tokens, lostAt, releaseAt, released } = attempt
    if (releaseAt === null || !released?.ok) continue
    const hadWord = lostAt !== null && lostAt < releaseAt
    // What was handed on, or entered again, is given back by another.
    const isLast =
      how !== 're-enter' && keys.every((key, i) => last.get(grantOf(key, tokens[i])) === tokens[i])
    const no = isLast ? refused(releasesOf(round, attempt), released.at) : undefined
    if (!hadWord && !no) continue
    const what = hadWord ? 'was lost' : `was gone by the word of the store about "${no?.key}"`
    const message = `${by} (${how} of "${keys.join('", "')}") ${what}, and ended as if it were not`
    const from = hadWord ? lostAt : releaseAt
    findings.fail('G6', message, { key: keys[0] ?? null, from, to: released.at, workers: [by] })
  }
}

/**
 * One to which nothing but no was heard by then. What may be left of earlier asks is released again after a yes; and an
 * answer that comes after its call was given up says nothing.
 */
function refused(releases: readonly Step[], at: number): Step | undefined {
  const isHeardNo = ({ answer, repliedAt }: Step): boolean => answer === 'no' && repliedAt <= at
  return releases.find(({ key }) => releases.every((one) => one.key !== key || isHeardNo(one)))
}

/** Of each grant. */
function lastTokens({ attempts }: Round): Map<string, bigint> {
  const last = new Map<string, bigint>()
  for (const { keys, tokens } of attempts) {
    tokens.forEach((token, i) => {
      const grant = grantOf(keys[i], token)
      if (token > (last.get(grant) ?? -1n)) last.set(grant, token)
    })
  }
  return last
}

function grantOf(key: string | undefined, token = 0n): string {
  return `${token / 1024n} ${key}`
}

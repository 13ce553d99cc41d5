import { heardBy, wordDue } from './certainty.ts'
import type { Findings } from './findings.ts'
import type { Round } from './round.ts'

/** Nobody sees `held` when the word of its loss was due: counted from when the last answered call was sent. */
export function earlyWord(round: Round, findings: Findings): void {
  for (const attempt of round.attempts) {
    for (const { at, held } of attempt.acts) {
      if (!held) continue
      attempt.keys.forEach((key, i) => {
        const number = Number((attempt.tokens[i] ?? 0n) / 1024n)
        const heard = heardBy(round.store.grant(key, number), at)
        const who = `${attempt.by} saw "${key}" held`
        const where = { key, workers: [attempt.by], to: at }
        if (!heard) {
          findings.fail('G2', `${who} under grant ${number}, which no store gave it`, { ...where, from: at })
        } else if (at > wordDue(heard)) {
          const lateMs = (at - wordDue(heard)).toFixed(1)
          const message = `${who} ${lateMs} ms after it should have known better (grant ${number})`
          findings.fail('G2', message, { ...where, from: wordDue(heard) })
        }
      })
    }
  }
}

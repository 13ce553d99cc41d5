import type { Findings } from './findings.ts'
import type { Round } from './round.ts'

/** `close()` comes to its end, and then nothing keeps the process alive. */
export function closing(round: Round, findings: Findings): void {
  for (const worker of round.workers.values()) {
    const { name, closingAt, closedAt, died } = worker
    if (round.wasKilled(worker)) continue
    if (closingAt === null) {
      // With any other code it has failed, which is told by G7.
      if (died?.code === '0')
        findings.fail('G12', `${name} ended, and never closed its client`, { from: died.at, workers: [name] })
      continue
    }
    const where = { from: closingAt, to: died?.at ?? round.endAt, workers: [name] }
    if (closedAt === null) findings.fail('G12', `${name} did not come to the end of close()`, where)
    else if (!died) findings.fail('G12', `${name} had closed, and its process did not end`, where)
    else if (died.code !== '0') {
      findings.fail('G12', `${name} had closed, and its process ended with ${died.code}`, where)
    }
  }
}

import type { Findings } from './findings.ts'
import type { Round, Worker } from './round.ts'
import { outside } from './span.ts'

/** A process has this time to run after its client has closed, of the five seconds after which it looks. */
const RUNS_MS = 4000

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
    if (closedAt !== null && isKeptByTimer(round, worker, closedAt)) {
      const message = `${name} had closed, and a timer kept its process alive`
      findings.fail('G12', message, { from: closedAt, to: worker.remains?.at ?? closedAt, workers: [name] })
    }
    const where = { from: closingAt, to: died?.at ?? round.endAt, workers: [name] }
    if (closedAt === null) findings.fail('G12', `${name} did not come to the end of close()`, where)
    else if (!died) findings.fail('G12', `${name} had closed, and its process did not end`, where)
    else if (died.code !== '0') {
      findings.fail('G12', `${name} had closed, and its process ended with ${died.code}`, where)
    }
  }
}

/** Of holdfast, or of a driver that it has opened and closed. A driver of the worker's own may leave one. */
function isKeptByTimer(round: Round, { name, remains }: Worker, closedAt: number): boolean {
  if (!remains?.isOurs || !remains.resources.includes('Timeout')) return false
  return outside({ from: closedAt, to: remains.at }, round.stillness(name)) > RUNS_MS
}

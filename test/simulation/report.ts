import { createHash } from 'node:crypto'
import { describeFact } from './facts.ts'
import type { RunResult } from './run.ts'
import { shrink } from './shrink.ts'

const TAIL = 60

/** All that is needed to understand a failure and to run it again. */
export async function describeFailure(failure: RunResult): Promise<string> {
  const { schedule, violation, trace } = await shrink(failure)
  return [
    `seed ${failure.schedule.seed}: ${describeViolation(failure)}`,
    `replay with: npm run simulate -- --seed ${failure.schedule.seed}`,
    '',
    'shrunk schedule (save it and run: npm run simulate -- --schedule <file>):',
    JSON.stringify(schedule),
    '',
    `what happened in it, the last ${Math.min(TAIL, trace.length)} of ${trace.length} facts:`,
    ...trace.slice(-TAIL).map(describeFact),
    '',
    `shrunk: ${violation?.guarantee}: ${violation?.message}`,
  ].join('\n')
}

export function describeViolation({ violation }: RunResult): string {
  if (!violation) return 'no invariant failed'
  return `${violation.guarantee} at ${violation.time.toFixed(3)} ms: ${violation.message}`
}

/** Equal for two runs exactly if the same things happened at the same times. */
export function hashTrace({ trace }: RunResult): string {
  const hash = createHash('sha256')
  for (const fact of trace) hash.update(`${describeFact(fact)}\n`)
  return hash.digest('hex')
}

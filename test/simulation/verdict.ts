import { generateSchedule } from './generate.ts'
import { runSchedule } from './run.ts'

/** What the simulation has to say about a copy of the sources. */
export interface Verdict {
  /** The first guarantee that failed; null if none did. */
  readonly guarantee: string | null
  readonly message: string | null
  /** How many schedules it took. */
  readonly schedules: number
}

const limit = Number(process.argv[2])
let verdict: Verdict = { guarantee: null, message: null, schedules: limit }
for (let seed = 1; seed <= limit; seed++) {
  const { violation } = await runSchedule(generateSchedule(seed))
  if (!violation) continue
  verdict = { guarantee: violation.guarantee, message: violation.message, schedules: seed }
  break
}
// A bug may have left a promise that keeps the process alive, or a rejection on its way.
process.stdout.write(`${JSON.stringify(verdict)}\n`, () => process.exit(0))

/** Runs in a copy of the sources, see `sources.ts`: a case as JSON, and how many seconds it may take. */
import type { Case } from './case.ts'
import { explore, type Exploration } from './explorer.ts'

export interface Findings extends Exploration {
  readonly seconds: number
}

const PROGRESS_MS = 5000

const [explored = '', maxSeconds = ''] = process.argv.slice(2)
const startedAt = performance.now()
let shownAt = startedAt

const print = (found: Exploration): void => {
  const findings: Findings = { ...found, seconds: (performance.now() - startedAt) / 1000 }
  console.log(JSON.stringify(findings))
}
const goOn = (soFar: Exploration): boolean => {
  const now = performance.now()
  if (now - shownAt > PROGRESS_MS) {
    shownAt = now
    print(soFar)
  }
  return now - startedAt < Number(maxSeconds) * 1000
}
print(await explore(JSON.parse(explored) as Case, goOn))

import { parseArgs } from 'node:util'
import { LEASE_BUGS } from '../../mutants/core/leases.ts'
import { QUEUE_BUGS } from '../../mutants/core/queues.ts'
import { STORE_CALL_BUGS } from '../../mutants/core/store-calls.ts'
import type { Case } from './case.ts'
import type { Findings } from './main.ts'
import { exploreSources } from './sources.ts'

const USAGE = `npm run explore -- [options]
Tries all that can happen to a few clients and keys, on virtual time: see docs/proof.md. No servers; one fault takes seconds,
two take minutes.

  --processes N   (default 2)
  --keys N        each process takes all of them (default 2)
  --faults N      what may go wrong in one run (default 1)
  --poll          a store without push
  --minutes N     when to stop; without, when all is tried
  --mutants       plant each known bug of core and look which are found
  --only TEXT     only bugs whose description has this text`

const { values } = parseArgs({
  options: {
    processes: { type: 'string', default: '2' },
    keys: { type: 'string', default: '2' },
    faults: { type: 'string', default: '1' },
    poll: { type: 'boolean', default: false },
    minutes: { type: 'string', default: 'Infinity' },
    mutants: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    help: { type: 'boolean', default: false },
  },
})
const [processes, keys, faults] = [values.processes, values.keys, values.faults].map(Number)
const maxSeconds = Number(values.minutes) * 60

if (values.help || !processes || !keys || faults === undefined || !(faults >= 0) || !(maxSeconds > 0)) {
  console.log(USAGE)
  process.exitCode = values.help ? 0 : 2
} else {
  const explored: Case = { processes, keys, faults, push: !values.poll }
  await (values.mutants ? tryMutants(explored) : tryCase(explored))
}

async function tryCase(explored: Case): Promise<void> {
  const onProgress = (soFar: Findings): void => console.error(describe(soFar))
  const findings = await exploreSources(explored, { maxSeconds, onProgress })
  console.log(describe(findings))
  if (findings.failure) {
    const { violation, way } = findings.failure
    console.log(`${violation.guarantee} at ${violation.time} ms: ${violation.message}\n  ${way.join('\n  ')}`)
    process.exitCode = 1
  } else
    console.log(
      findings.complete ? 'all was tried, and G1–G12 held' : 'stopped before all was tried; G1–G12 held',
    )
}

async function tryMutants(explored: Case): Promise<void> {
  const all = [...LEASE_BUGS, ...QUEUE_BUGS, ...STORE_CALL_BUGS]
  const bugs = all.filter(({ bug }) => bug.includes(values.only))
  let found = 0
  let goesOn = true
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => (goesOn = false))
  for (const { bug, changes } of bugs) {
    if (!goesOn) break
    const verdict = await exploreSources(explored, { changes, maxSeconds }).then(verdictOf, String)
    console.log(`${bug.padEnd(78)} ${verdict}`)
    if (verdict.startsWith('G')) found += 1
  }
  console.log(`${found} of ${bugs.length} found`)
}

function verdictOf({ failure, runs, complete }: Findings): string {
  if (!failure) return complete ? 'not in this case' : 'not in this time'
  return `${failure.violation.guarantee.padEnd(9)} run ${runs}, ${failure.faults} faults`
}

function describe({ states, runs, moves, ends, longest, seconds }: Findings): string {
  const total = states.reduce((sum, count) => sum + count, 0)
  const byFaults = states.map((count, faults) => `${faults}: ${count}`).join(', ')
  return `${total} states (by faults ${byFaults}), ${runs} runs, ${ends} to the end, ${moves} moves, longest ${longest}, ${seconds.toFixed(1)} s`
}

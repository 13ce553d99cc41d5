/**
 * `npm run model`: tries every order of steps of a small model of the lock, and that each planted bug is found.
 * What it shows and what not: docs/proof.md.
 */
import { commandLine, refuse } from '../../scripts/command-line.ts'
import { BUGS, CASES } from './cases.ts'
import { check } from './spin.ts'

const USAGE = `npm run model -- [options]
  --only TEXT   only cases and bugs with this text in their title`

const { values } = commandLine(USAGE, { options: { only: { type: 'string', default: '' } } })
const isWanted = ({ title }: { title: string }): boolean => title.includes(values.only)
if (![...CASES, ...BUGS].some(isWanted)) refuse(USAGE, `--only: no case has '${values.only}' in its title`)

for (const { title, defines, states: all } of CASES.filter(isWanted)) {
  const { states, steps, depth, seconds, violation } = await check(defines)
  const size = `${states.toLocaleString('en')} states, ${steps.toLocaleString('en')} steps, depth ${depth}`
  const complete = states === all ? 'complete, no violation' : `not the ${all} states there were`
  console.log(`${title}: ${size}, ${seconds.toFixed(1)} s: ${violation ?? complete}`)
  if (violation !== null || states !== all) process.exitCode = 1
}
for (const { title, defines } of BUGS.filter(isWanted)) {
  const { states, violation } = await check(defines)
  console.log(`bug: ${title}: ${violation === null ? 'NOT FOUND' : `found after ${states} states`}`)
  if (violation === null) process.exitCode = 1
}

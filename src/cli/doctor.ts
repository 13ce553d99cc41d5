import { parse } from './arguments.ts'
import { checkUp } from './check-up.ts'
import type { Command, Terminal } from './command.ts'
import { EXIT } from './failure.ts'
import type { Finding, State } from './finding.ts'
import { type Colour, json, painted, shown } from './text.ts'

export const doctorCommand: Command = {
  name: 'doctor',
  summary: 'check that the store can be used, and how well',
  help: `usage: holdfast doctor [--json]

Connects and tries all that a client does, on a key of its own: lock, look, renew, release, take
away, and wake a second client that waits. It measures how long that takes. Each line says ok,
warning or failed, and what to change. It takes some seconds.

  --json  one JSON object: { ok, findings: [{ name, state, text, fix }] }

Exits with 1 if anything failed. A warning is no failure.
`,
  async run({ args, openLocks, terminal }) {
    const { values } = parse(args, { json: { type: 'boolean', default: false } })
    const findings: Finding[] = []
    await checkUp(openLocks, (finding) => {
      findings.push(finding)
      if (!values.json) terminal.out.write(lineOf(finding, terminal))
    })
    const ok = findings.every(({ state }) => state !== 'failed')
    if (values.json) terminal.out.write(`${json({ ok, findings })}\n`)
    return ok ? 0 : EXIT.no
  },
}

const COLOURS: Record<State, Colour> = { ok: 'green', warning: 'yellow', failed: 'red' }

function lineOf({ name, state, text, fix }: Finding, { colour }: Terminal): string {
  const mark = painted(state.padEnd(8), COLOURS[state], colour)
  const line = `${mark} ${name.padEnd(9)} ${shown(text)}\n`
  return fix === null ? line : `${line}${' '.repeat(19)}${shown(fix)}\n`
}

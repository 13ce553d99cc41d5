import type { LockRecord } from '../store.ts'
import { parse } from './arguments.ts'
import { withStoreAsIs } from './client.ts'
import type { Command } from './command.ts'
import { EXIT } from './failure.ts'
import { firstToken, heldForMs, recordJson } from './records.ts'
import { json, period, shown } from './text.ts'

export const inspectCommand: Command = {
  name: 'inspect',
  summary: 'show who holds one key',
  help: `usage: holdfast inspect KEY [--json]

Exits with 0 if the key is held and with 1 if nobody holds it. A key that begins with - goes
behind --.

  --json  one JSON object, or null
`,
  async run(invocation) {
    const { args, terminal } = invocation
    const { out } = terminal
    const { values, positionals } = parse(args, { json: { type: 'boolean', default: false } }, ['a KEY'])
    const [key = ''] = positionals
    const record = await withStoreAsIs(invocation, (locks) => locks.inspect(key))
    if (values.json) out.write(`${json(record && recordJson(record))}\n`)
    else out.write(record ? describe(record) : `${shown(key)} is held by nobody\n`)
    return record ? 0 : EXIT.no
  },
}

function describe(record: LockRecord): string {
  const { key, grant, holder, since, leaseMs, remainingMs, wanted } = record
  const { since: time } = recordJson(record) as { since: string | null }
  const rows: readonly (readonly [string, string])[] = [
    ['key', key],
    ['service', holder.service],
    ['instance', holder.instance],
    ['context', holder.context ?? 'none'],
    ['since', `${time ?? since}, for ${period(heldForMs(record))}`],
    ['lease', `${period(leaseMs)}, ${period(remainingMs)} left`],
    ['token', firstToken(record)],
    ['grant', String(grant)],
    ['wanted', wanted ? 'yes, another waits for it' : 'no'],
  ]
  return rows.map(([name, value]) => `${name.padEnd(10)}${shown(value)}\n`).join('')
}

import { parse } from './arguments.ts'
import { withStoreAsIs } from './client.ts'
import type { Command } from './command.ts'
import { readRecords, recordJson, recordLines } from './records.ts'
import { json } from './text.ts'
import { watchRecords } from './watch.ts'

export const listCommand: Command = {
  name: 'list',
  summary: 'show which keys are held, and by whom',
  help: `usage: holdfast list [--prefix TEXT] [--json] [--watch]

Shows the keys that are held now, of all clients of the store.

  --prefix TEXT  only keys that begin with it
  --json         one JSON array; with --watch, one JSON object per line and change
  --watch        look again each second: on a terminal it draws the table anew, else it prints
                 a line for each key that was taken (held) or given back (freed)

HELD is how long the key has been held, LEFT what is left of its lease: a holder that is alive
renews it. WANTED says whether another waits for it.
`,
  async run(invocation) {
    const { args, terminal } = invocation
    const { values } = parse(args, {
      prefix: { type: 'string' },
      json: { type: 'boolean', default: false },
      watch: { type: 'boolean', default: false },
    })
    const { prefix, json: asJson, watch } = values
    return withStoreAsIs(invocation, async (locks) => {
      const read = (): ReturnType<typeof readRecords> => readRecords(locks, prefix)
      if (watch) {
        await watchRecords({ read, terminal, asJson })
        return 0
      }
      const records = await read()
      const lines = asJson ? [json(records.map(recordJson))] : recordLines(records, terminal)
      terminal.out.write(`${lines.join('\n')}\n`)
      return 0
    })
  },
}

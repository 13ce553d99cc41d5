import { parse, wholeNumber } from './arguments.ts'
import { withStoreAsIs } from './client.ts'
import { type Command, UsageError } from './command.ts'
import { EXIT } from './failure.ts'
import { shown } from './text.ts'

export const releaseCommand: Command = {
  name: 'release',
  summary: 'take a key away from whoever holds it',
  help: `usage: holdfast release KEY --force [--grant N]

Frees the key, also if its holder is alive and at work. The holder learns of it at its next
renewal, up to a third of its lease later, and works on until then; only a check of the fencing
token at the resource stops what it still writes. A holder that is dead needs none of this: its
lease runs out by itself.

  --force    yes, I mean it
  --grant N  only if that grant is still in force: the number that holdfast inspect shows

Exits with 1 if there was nothing to free, or if it was another grant.
`,
  async run(invocation) {
    const { args, terminal } = invocation
    const { out, err } = terminal
    const { values, positionals } = parse(
      args,
      { force: { type: 'boolean', default: false }, grant: { type: 'string' } },
      ['a KEY'],
    )
    const [key = ''] = positionals
    const grant =
      values.grant === undefined
        ? undefined
        : wholeNumber('--grant', values.grant, { min: 1, max: Number.MAX_SAFE_INTEGER })
    if (!values.force) {
      throw new UsageError(
        'this takes the key from a holder that may be at work; if you mean it, add --force',
      )
    }
    return withStoreAsIs(invocation, async (locks) => {
      const record = await locks.forceRelease(key, grant === undefined ? {} : { grant })
      if (record) {
        const { service, instance } = record.holder
        const who = `${shown(service)} ${shown(instance)}`
        out.write(`freed ${shown(key)}, which ${who} held (grant ${record.grant})\n`)
        return 0
      }
      const now = grant === undefined ? null : await locks.inspect(key)
      const why = now ? `it is held under grant ${now.grant}, not ${grant}` : 'nobody holds it'
      err.write(`holdfast: nothing was freed: ${shown(key)}: ${why}\n`)
      return EXIT.no
    })
  },
}

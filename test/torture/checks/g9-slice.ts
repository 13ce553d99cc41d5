import type { Findings } from './findings.ts'
import type { Round } from './round.ts'

/** For so long a process may pass a key on inside itself. */
const SLICE_MS = 100
/** The holder sees its grant after it began, and says that it ends before it does: standing still only hides more. */
const SLACK_MS = 10

interface Link {
  readonly handOff: number
  readonly grantedAt: number
  readonly releaseAt: number | null
}

/** Who passes a key on to the next of its process does so soon after the store has granted it. */
export function slice(round: Round, findings: Findings): void {
  for (const { by, key, links } of chainsOf(round)) {
    const from = Math.min(...links.map(({ grantedAt }) => grantedAt))
    // The last one gave it back, whenever that was.
    const passed = links.toSorted((a, b) => a.handOff - b.handOff).slice(0, -1)
    const to = Math.max(from, ...passed.map(({ releaseAt }) => releaseAt ?? from))
    if (to - from <= SLICE_MS + SLACK_MS) continue
    const message = `${by} passed "${key}" on inside itself ${Math.round(to - from)} ms after it was granted`
    findings.fail('G9', message, { key, from, to, workers: [by] })
  }
}

interface Chain {
  readonly by: string
  readonly key: string
  readonly links: Link[]
}

/** Those of one process that had a key under one grant of the store, one after the other. */
function chainsOf({ attempts }: Round): Iterable<Chain> {
  const chains = new Map<string, Chain>()
  for (const { by, how, keys, tokens, grantedAt, releaseAt } of attempts) {
    if (grantedAt === null || how === 're-enter') continue
    keys.forEach((key, i) => {
      const token = tokens[i] ?? 0n
      const id = `${by} ${token / 1024n} ${key}`
      const chain = chains.get(id) ?? { by, key, links: [] }
      chains.set(id, chain)
      chain.links.push({ handOff: Number(token % 1024n), grantedAt, releaseAt })
    })
  }
  return chains.values()
}

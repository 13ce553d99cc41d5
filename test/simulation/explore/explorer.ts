import type { Violation } from '../scene.ts'
import type { Case } from './case.ts'
import { ExploredRun } from './explored-run.ts'

/** A place in the tree of choices: the way there, from its end to its beginning. */
interface Node {
  readonly before: Node | null
  readonly choice: number
  /** The state in which the choice is made: the same way must lead to it again. */
  readonly state: string
}

export interface Exploration {
  readonly runs: number
  /** By the number of faults on the shortest way there. */
  readonly states: readonly number[]
  readonly moves: number
  /** Runs that came to an end of their own, not to a state that was known. */
  readonly ends: number
  /** In moves. */
  readonly longest: number
  readonly failure: Failure | null
  /** False if it was stopped. */
  readonly complete: boolean
}

export interface Failure {
  readonly violation: Violation
  readonly way: readonly string[]
  readonly faults: number
}

/**
 * Tries all that can happen in a case. The program cannot be copied in the middle, so each way is run from
 * the start; where it comes to a state that was seen before, it ends, since what follows is known. Ways with
 * fewer faults come first: a state is seen first with the most faults still to come, and a failure has as few
 * as there can be.
 */
export async function explore(
  explored: Case,
  goOn: (soFar: Exploration) => boolean = () => true,
): Promise<Exploration> {
  const seen = new Set<string>()
  const open: Node[][] = Array.from({ length: explored.faults + 1 }, () => [])
  const states = open.map(() => 0)
  const soFar = {
    runs: 0,
    states,
    moves: 0,
    ends: 0,
    longest: 0,
    failure: null as Failure | null,
    complete: true,
  }
  let next: Node | null | undefined = null
  const onRejection = (error: unknown): void => running?.fail('G7', `unhandled rejection: ${String(error)}`)
  let running: ExploredRun | null = null
  process.on('unhandledRejection', onRejection)
  try {
    do {
      const run = new ExploredRun(explored)
      running = run
      soFar.runs += 1
      soFar.failure = await follow(run, next)
      if (soFar.failure) return soFar
      if (!goOn(soFar)) return { ...soFar, complete: false }
      next = open.find((level) => level.length > 0)?.pop()
    } while (next)
    return soFar
  } finally {
    process.off('unhandledRejection', onRejection)
  }

  async function follow(run: ExploredRun, node: Node | null): Promise<Failure | null> {
    const way: string[] = []
    const given = wayTo(node)
    let before: Node | null = node
    await run.begin()
    for (let made = 0; ; made += 1) {
      if (run.violation) return { violation: run.violation, way, faults: run.faults }
      const { moves } = run
      const known = given[made]
      if (known === undefined || made === given.length - 1) {
        const { state } = run
        if (known === undefined) {
          soFar.longest = Math.max(soFar.longest, made)
          if (seen.has(state)) return null
          seen.add(state)
          states[run.faults] = (states[run.faults] ?? 0) + 1
          for (let choice = moves.length - 1; choice > 0; choice -= 1) {
            const level = run.faults + (moves[choice]?.isFault ? 1 : 0)
            open[level]?.push({ before, choice, state })
          }
          before = { before, choice: 0, state }
        } else if (known.state !== state) throw new Error(`the same way led elsewhere: ${way.join(', ')}`)
      }
      const move = moves[known?.choice ?? 0]
      if (!move) break
      way.push(move.name)
      soFar.moves += 1
      await run.make(move)
    }
    soFar.ends += 1
    await run.end()
    return run.violation ? { violation: run.violation, way, faults: run.faults } : null
  }
}

function wayTo(node: Node | null): Node[] {
  const way: Node[] = []
  for (let each = node; each; each = each.before) way.push(each)
  return way.reverse()
}

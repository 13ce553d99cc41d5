import type { SimulatedProcess } from '../simulated-process.ts'
import { PAUSE_MS } from './case.ts'
import type { ExploredNetwork, Message } from './explored-network.ts'
import type { ExploredWorld } from './explored-world.ts'

/** One thing that can happen next. */
export interface Move {
  readonly name: string
  readonly isFault: boolean
  /** Whose code runs. Then that process may as well crash or stand still. */
  readonly process: SimulatedProcess | null
  readonly run: () => Promise<void>
}

export interface Stage {
  readonly world: ExploredWorld
  readonly network: ExploredNetwork
  readonly processes: readonly SimulatedProcess[]
}

/**
 * All that can happen next. At one instant whatever nobody holds back happens in any order, but for the timers
 * of one process, which keep theirs. Then a message that was held back may come, or something may befall the
 * server, or time goes on. The first move is the most ordinary one.
 */
export function movesOf(stage: Stage, mayFail: boolean): Move[] {
  const { world, network, processes } = stage
  const prompt: Message[] = []
  const late: Message[] = []
  for (const message of network.messages) {
    if (!message.to || isAwake(world, message.to)) (message.late ? late : prompt).push(message)
  }
  const moves = prompt.map((message) => delivery(stage, message))
  for (const process of processes) moves.push(...timerOf(world, process))
  const isQuiet = moves.length === 0
  if (isQuiet) {
    moves.push(...passageOfTime(stage, late.length > 0))
    if (moves.length === 0 && late.length > 0) moves.push(loss(stage))
    for (const message of late) moves.push(delivery(stage, message))
  }
  if (!mayFail) return moves
  const faults = isQuiet ? serverFaults(stage) : processFaults(stage, moves)
  for (const message of prompt) faults.push(...messageFaults(stage, message))
  return [...moves, ...faults]
}

function isAwake(world: ExploredWorld, { crashed, busyUntil }: SimulatedProcess): boolean {
  return !crashed && busyUntil <= world.time
}

function timerOf(world: ExploredWorld, process: SimulatedProcess): Move[] {
  const event = world.nextOf(process)
  if (!event || event.time > world.time || !isAwake(world, process)) return []
  const name = `timer ${event.order} of process ${process.index}`
  return [{ name, isFault: false, process, run: () => world.fire(event) }]
}

function delivery({ world, network }: Stage, message: Message): Move {
  return {
    name: message.name,
    isFault: false,
    process: message.to,
    run: async () => {
      network.take(message)
      await world.run(message.deliver)
    },
  }
}

/** To the next moment at which something is due: a timer, the end of a pause, or of a lease. */
function passageOfTime({ world, network, processes }: Stage, anythingLate: boolean): Move[] {
  const times: number[] = []
  for (const process of processes) {
    const next = world.nextOf(process)
    if (next) times.push(Math.max(next.time, process.busyUntil))
    if (network.messages.some(({ to, late }) => to === process && !late)) times.push(process.busyUntil)
  }
  // Seen only by a message that comes before or after it.
  if (anythingLate)
    for (const { expiresAt } of network.server.store.records.values())
      times.push(network.server.timeAt(expiresAt))
  const time = Math.min(...times.filter((each) => each > world.time))
  if (time === Infinity) return []
  const run = async (): Promise<void> => {
    world.time = time
  }
  return [{ name: `it is ${time.toFixed(3)} ms`, isFault: false, process: null, run }]
}

/** Nothing else is left to happen: what has not come by now never does. */
function loss({ network }: Stage): Move {
  const run = async (): Promise<void> => {
    network.messages = []
  }
  return { name: 'the rest is lost', isFault: false, process: null, run }
}

function messageFaults({ world, network, processes }: Stage, message: Message): Move[] {
  const { to, call, fail, name } = message
  const fault = (what: string, process: SimulatedProcess | null, run: () => void): Move => {
    return { name: `${what}: ${name}`, isFault: true, process, run: () => world.run(run) }
  }
  const moves = [fault('held back', null, () => (message.late = true))]
  // Core does not even see an answer that comes twice.
  if (!to) {
    const twice = (): void => {
      network.take(message)
      network.messages.push({ ...message, name: `${name} again`, late: true, isCopy: true })
      message.deliver()
    }
    moves.push(fault('twice', null, twice))
  }
  const told = to ?? processes[call?.process ?? -1]
  if (fail && told && isAwake(world, told)) {
    const broken = (): void => {
      network.take(message)
      fail()
    }
    moves.push(fault('broken', told, broken))
  }
  return moves
}

/** Before something that the process would do: whatever happens elsewhere does not see when. */
function processFaults({ network }: Stage, moves: readonly Move[]): Move[] {
  const acting = new Set(moves.flatMap(({ process }) => process ?? []))
  return [...acting].flatMap((process) => {
    const fault = (what: string, run: () => void): Move => {
      const name = `process ${process.index} ${what}`
      return { name, isFault: true, process, run: async () => run() }
    }
    return [
      fault('crashes', () => {
        process.crashed = true
        network.drop(process)
      }),
      fault(`stands still for ${PAUSE_MS} ms`, () => process.pauseFor(PAUSE_MS)),
    ]
  })
}

function serverFaults({ world, network }: Stage): Move[] {
  const { store } = network.server
  const keys = [...store.records.keys()].filter((key) => store.held(key))
  const fault = (name: string, run: () => void): Move => {
    return { name, isFault: true, process: null, run: async () => run() }
  }
  if (keys.length === 0) return []
  const forget = (): void => {
    store.forget()
    // It takes a moment: its clock does not show the same twice.
    world.time += 1
  }
  return [
    ...keys.map((key) => fault(`${key} is freed by force`, () => network.evict(key))),
    fault('the store forgets', forget),
  ]
}

import type { Locks } from '../../src/locks.ts'
import { clientsOf } from './clients.ts'
import type { Dated, Fact } from './facts.ts'
import { planFaults } from './faults.ts'
import { allInvariants } from './invariants/index.ts'
import { Ledger } from './ledger.ts'
import { Network } from './network.ts'
import type { Schedule, TaskPlan } from './schedule.ts'
import type { Invariant, Scene, Violation } from './scene.ts'
import { SimulatedProcess } from './simulated-process.ts'
import { Tally } from './tally.ts'
import { Weather } from './weather.ts'
import { Workload } from './workload.ts'
import { World } from './world.ts'

export interface RunResult {
  readonly schedule: Schedule
  readonly violation: Violation | null
  readonly trace: readonly Dated[]
  readonly steps: number
  readonly tally: Tally
}

/** Everything that was asked for in bad weather must be settled this long after it ended. */
const SETTLE_MS = 400_000
/** Longer than any lease that a crash may have left, and all that waits for the key with us. */
const PROBE_WAIT_MS = 60_000
const CLOSE_MS = 20_000
/** Longest lease, and the latest that a message can be. */
const LEFTOVERS_MS = 40_000
/** Far beyond what a schedule needs: core spins. */
const MAX_STEPS = 60_000

export async function runSchedule(schedule: Schedule): Promise<RunResult> {
  const run = new Run(schedule)
  const onRejection = (error: unknown): void =>
    run.fail('G7', `unhandled rejection: ${error instanceof Error ? error.stack : String(error)}`)
  process.on('unhandledRejection', onRejection)
  try {
    await run.play()
  } finally {
    process.off('unhandledRejection', onRejection)
  }
  const { violation, trace, tally, world } = run
  return { schedule, violation, trace, steps: world.steps, tally }
}

class Run implements Scene {
  readonly schedule: Schedule
  readonly world: World
  readonly network: Network
  readonly processes: readonly SimulatedProcess[]
  readonly locks: readonly Locks[]
  readonly ledger: Ledger
  readonly weather: Weather
  readonly tally = new Tally()
  readonly trace: Dated[] = []
  violation: Violation | null = null
  readonly #invariants: readonly Invariant[]
  readonly #workloads: readonly Workload[]
  readonly #closed = new Set<number>()
  #running = new Set<TaskPlan>()
  readonly fail = (guarantee: string, message: string): void => {
    this.violation ??= { guarantee, message, time: this.world.time }
  }

  constructor(schedule: Schedule) {
    this.schedule = schedule
    const note = (fact: Fact): void => this.#note(fact)
    this.world = new World((error) =>
      this.fail('G7', `a timer or callback threw: ${error instanceof Error ? error.stack : String(error)}`),
    )
    this.network = new Network(this.world, schedule, note)
    this.processes = schedule.processes.map((_, index) => new SimulatedProcess(index, this.world, schedule))
    this.ledger = new Ledger(this.processes, () => this.world.time)
    this.weather = new Weather(schedule)
    this.locks = clientsOf(this.processes, this.network, schedule.server.push)
    this.#workloads = this.processes.map(
      (each, index) => new Workload(each, this.locks[index] as Locks, note),
    )
    this.#invariants = allInvariants(this)
    for (const task of schedule.tasks) this.#plan(task)
    planFaults(this, note, (process) => this.#close(process))
  }

  async play(): Promise<void> {
    await this.#until(this.schedule.calmAt)
    this.#note({ is: 'calm' })
    await this.#untilSettled(SETTLE_MS, 'G7')

    // The store is back, so every call works, on every key, from every process that is left.
    const earlier = this.ledger.attempts.length
    const keys = new Set(this.schedule.tasks.map((task) => task.key))
    for (const key of keys) this.#planForAll(10_000 + key * 100, key, PROBE_WAIT_MS, 20)
    await this.#untilSettled(PROBE_WAIT_MS * 2, 'G7')
    for (const { name, outcome, process } of this.ledger.attempts.slice(earlier)) {
      if (process.crashed || this.ledger.closing.has(process.index)) continue
      if (outcome !== 'ok')
        this.fail('G7', `${name} ended with ${outcome} although nothing was wrong any more`)
    }

    // One holds, the others wait, and all are closed in the middle of it.
    this.#planForAll(20_000, 0, 'forever', 3000)
    await this.#until(this.world.time + 300)
    for (const process of this.#alive()) this.world.at(this.world.time, process, () => this.#close(process))
    await this.#untilSettled(CLOSE_MS, 'G12')
    if (this.#alive().length > 0) this.fail('G12', `close() did not end within ${CLOSE_MS} ms`)

    await this.#until(this.world.time + LEFTOVERS_MS)
    if (!this.violation) this.#look((invariant) => invariant.end?.())
    for (const { stalledMs } of this.processes) if (stalledMs > 0) this.tally.add('stall')
  }

  #alive(): SimulatedProcess[] {
    return this.processes.filter(({ index, crashed }) => !crashed && !this.#closed.has(index))
  }

  #plan(task: TaskPlan): void {
    const process = this.processes[task.process]
    const workload = this.#workloads[task.process]
    if (!process || !workload) return
    this.#running.add(task)
    this.world.at(task.at, process, () => {
      void workload.run(task).then(() => this.#running.delete(task))
    })
  }

  #planForAll(firstId: number, key: number, wait: number | 'forever', workMs: number): void {
    for (const process of this.#alive()) {
      this.#plan({
        id: firstId + process.index,
        process: process.index,
        at: this.world.time,
        how: 'acquire',
        key,
        options: { wait, lease: 1000 },
        heedsLoss: false,
        body: [{ do: 'work', ms: workMs }],
      })
    }
  }

  #close(process: SimulatedProcess): void {
    const { index } = process
    if (this.ledger.closing.has(index)) return
    this.#note({ is: 'closing', process: index })
    void this.locks[index]?.close().then(() => {
      this.#closed.add(index)
      this.#note({ is: 'closed', process: index })
    })
  }

  async #untilSettled(limitMs: number, guarantee: string): Promise<void> {
    const end = this.world.time + limitMs
    await this.#until(end, () => !this.#isSettled())
    if (this.#isSettled() || this.violation) return
    const names = [...this.#running].map((task) => `task ${task.id}`).join(', ')
    this.fail(guarantee, `${names} did not settle within ${limitMs} ms of calm weather`)
  }

  #isSettled(): boolean {
    for (const task of this.#running) {
      if (this.processes[task.process]?.crashed) this.#running.delete(task)
    }
    if (this.#running.size > 0) return false
    for (const process of this.ledger.closing) {
      if (!this.#closed.has(process) && !this.processes[process]?.crashed) return false
    }
    return true
  }

  async #until(time: number, goOn: () => boolean = () => true): Promise<void> {
    if (this.violation) return
    await this.world.runUntil(time, () => {
      this.#look((invariant) => invariant.look?.())
      if (this.world.steps > MAX_STEPS) this.fail('G7', `more than ${MAX_STEPS} steps: something spins`)
      return this.violation === null && goOn()
    })
  }

  #look(at: (invariant: Invariant) => void): void {
    this.world.looking = true
    for (const invariant of this.#invariants) at(invariant)
    this.world.looking = false
  }

  #note(fact: Fact): void {
    this.trace.push({ time: this.world.time, fact })
    this.ledger.hear(fact)
    this.tally.hear(fact, this.ledger)
    for (const invariant of this.#invariants) invariant.hear?.(fact)
  }
}

import type { Locks } from '../../../src/locks.ts'
import { DEFAULT_LEASE_MS } from '../attempt.ts'
import { clientsOf } from '../clients.ts'
import type { Dated, Fact } from '../facts.ts'
import { allInvariants } from '../invariants/index.ts'
import { Ledger } from '../ledger.ts'
import type { Schedule, TaskPlan } from '../schedule.ts'
import type { Invariant, Scene, Violation } from '../scene.ts'
import type { SimulatedProcess } from '../simulated-process.ts'
import { Weather } from '../weather.ts'
import { Workload } from '../workload.ts'
import { type Case, scheduleOf } from './case.ts'
import { ExploredNetwork } from './explored-network.ts'
import { ExploredProcess } from './explored-process.ts'
import { ExploredWorld } from './explored-world.ts'
import { type Move, movesOf } from './moves.ts'
import { portraitOf } from './portrait.ts'

/** Far beyond what a case needs: core spins. */
const MAX_STEPS = 5000

/** When something went wrong last. */
class LastTrouble extends Weather {
  at = 0

  override calmSince(): number {
    return this.at
  }
}

/** One run of a case, move by move. */
export class ExploredRun implements Scene {
  readonly schedule: Schedule
  readonly world: ExploredWorld
  readonly network: ExploredNetwork
  readonly processes: readonly ExploredProcess[]
  readonly locks: readonly Locks[]
  readonly ledger: Ledger
  readonly weather: LastTrouble
  readonly trace: Dated[] = []
  violation: Violation | null = null
  readonly #case: Case
  readonly #invariants: readonly Invariant[]
  readonly #workloads: readonly Workload[]
  readonly #running = new Set<TaskPlan>()
  readonly #closed = new Set<number>()
  #faults = 0

  readonly fail = (guarantee: string, message: string): void => {
    this.violation ??= { guarantee, message, time: this.world.time }
  }

  constructor(explored: Case) {
    this.#case = explored
    const schedule = scheduleOf(explored)
    this.schedule = schedule
    const note = (fact: Fact): void => this.#note(fact)
    this.world = new ExploredWorld((error) => this.fail('G7', `a timer or callback threw: ${String(error)}`))
    this.network = new ExploredNetwork(this.world, schedule, note)
    this.processes = schedule.processes.map((_, index) => new ExploredProcess(index, this.world, schedule))
    this.ledger = new Ledger(this.processes, () => this.world.time)
    this.weather = new LastTrouble(schedule)
    this.locks = clientsOf(this.processes, this.network, schedule.server.push)
    this.#workloads = this.processes.map(
      (each, index) => new Workload(each, this.locks[index] as Locks, note),
    )
    this.#invariants = allInvariants(this)
  }

  /** All tasks ask at once; what happens in which order is decided when their calls arrive. */
  async begin(): Promise<void> {
    await this.world.run(() => {
      for (const task of this.schedule.tasks) this.#start(task)
    })
  }

  get moves(): Move[] {
    return movesOf(this, this.#faults < this.#case.faults)
  }

  get faults(): number {
    return this.#faults
  }

  async make(move: Move): Promise<void> {
    if (move.isFault) {
      this.#faults += 1
      this.weather.at = this.world.time
      this.#note({ is: 'fault', what: move.name })
    }
    await move.run()
    this.#look((invariant) => invariant.look?.())
    if (this.world.steps > MAX_STEPS) this.fail('G7', `more than ${MAX_STEPS} steps: something spins`)
  }

  get state(): string {
    return portraitOf(this)
  }

  /** Nothing can happen any more. All that is promised in the end must hold now. */
  async end(): Promise<void> {
    for (const task of this.#running) {
      if (!this.processes[task.process]?.crashed) this.fail('G7', `task ${task.id} waits for ever`)
    }
    const earlier = this.ledger.attempts.length
    const first = this.schedule.tasks.length
    await this.world.run(() => {
      for (const { process, key } of this.schedule.tasks) {
        const probe = {
          id: first + this.#running.size,
          process,
          at: 0,
          how: 'acquire',
          key,
          options: { wait: 5000 },
          heedsLoss: false,
          body: [],
        } as const
        if (!this.processes[process]?.crashed) this.#start(probe)
      }
    })
    await this.#settle()
    for (const { name, outcome, process } of this.ledger.attempts.slice(earlier)) {
      if (outcome !== 'ok' && !process.crashed)
        this.fail('G7', `${name} ended with ${outcome} although nothing was wrong any more`)
    }
    await this.world.run(() => {
      for (const process of this.processes) if (!process.crashed) this.#close(process)
    })
    await this.#settle()
    const alive = this.processes.filter(({ crashed }) => !crashed)
    if (alive.some(({ index }) => !this.#closed.has(index))) this.fail('G12', 'close() did not end')
    this.world.time += 2 * DEFAULT_LEASE_MS
    this.#look((invariant) => invariant.end?.())
  }

  async #settle(): Promise<void> {
    for (;;) {
      const [next] = movesOf(this, false)
      if (!next || this.violation) return
      await this.make(next)
    }
  }

  #start(task: TaskPlan): void {
    this.#running.add(task)
    void this.#workloads[task.process]?.run(task).then(() => this.#running.delete(task))
  }

  #close({ index }: SimulatedProcess): void {
    this.#note({ is: 'closing', process: index })
    void this.locks[index]?.close().then(() => {
      this.#closed.add(index)
      this.#note({ is: 'closed', process: index })
    })
  }

  #look(at: (invariant: Invariant) => void): void {
    if (this.violation) return
    this.world.looking = true
    for (const invariant of this.#invariants) at(invariant)
    this.world.looking = false
  }

  #note(fact: Fact): void {
    this.trace.push({ time: this.world.time, fact })
    this.ledger.hear(fact)
    // By process: the order in which they asked is not to decide anything.
    if (fact.is === 'asked') fact.attempt.isRead = fact.attempt.process.index % 2 === 0
    for (const invariant of this.#invariants) invariant.hear?.(fact)
  }
}

import type { Lease } from '../../src/lease.ts'
import type { Locks } from '../../src/locks.ts'
import { Attempt, outcomeOf } from './attempt.ts'
import type { AttemptStart } from './attempt.ts'
import type { UserFact } from './facts.ts'
import { keyName } from './schedule.ts'
import type { Step, TaskPlan } from './schedule.ts'
import type { SimulatedProcess } from './simulated-process.ts'

/** Simulated user code on one process: does what its tasks say and notes what it sees. */
export class Workload {
  readonly #process: SimulatedProcess
  readonly #locks: Locks
  readonly #note: (fact: UserFact) => void

  constructor(process: SimulatedProcess, locks: Locks, note: (fact: UserFact) => void) {
    this.#process = process
    this.#locks = locks
    this.#note = note
  }

  async run(task: TaskPlan): Promise<void> {
    const start = {
      name: `task ${task.id}`,
      process: this.#process,
      how: task.how,
      key: keyName(task.key),
      options: task.options,
      parent: null,
      giveUpAfter: task.giveUpAfter,
    }
    await this.#attempt(start, task, task.body)
  }

  async #attempt(start: AttemptStart, task: TaskPlan, body: readonly Step[]): Promise<void> {
    const attempt = new Attempt(start)
    attempt.askedAt = this.#process.time
    attempt.stalledMs = this.#process.stalledMs
    this.#note({ is: 'asked', attempt })
    try {
      if (attempt.how === 'using') await this.#using(attempt, task, body)
      else await this.#holding(attempt, task, body)
    } catch (error) {
      attempt.error = error
      attempt.outcome = outcomeOf(error, attempt.userError)
    }
    attempt.settledAt = this.#process.time
    this.#note({ is: 'settled', attempt })
  }

  async #using(attempt: Attempt, task: TaskPlan, body: readonly Step[]): Promise<void> {
    const result = await this.#locks.using(attempt.key, this.#options(attempt), async (lease) => {
      await this.#body(attempt, lease, task, body)
      return attempt.name
    })
    attempt.outcome = result === attempt.name ? 'ok' : `resolved ${String(result)}`
  }

  async #holding(attempt: Attempt, task: TaskPlan, body: readonly Step[]): Promise<void> {
    const { key } = attempt
    const lease = await (attempt.how === 'acquire'
      ? this.#locks.acquire(key, this.#options(attempt))
      : this.#locks.tryAcquire(key, this.#options(attempt)))
    if (!lease) {
      attempt.outcome = 'null'
      return
    }
    try {
      await this.#body(attempt, lease, task, body)
    } finally {
      attempt.released = await said(lease.release())
      attempt.releasedAgain = await said(lease.release())
    }
    attempt.outcome = 'ok'
  }

  async #body(attempt: Attempt, lease: Lease, task: TaskPlan, body: readonly Step[]): Promise<void> {
    attempt.lease = lease
    attempt.signal = lease.signal
    attempt.enteredAt = this.#process.time
    const told = (): void => {
      attempt.toldAt = this.#process.time
      this.#note({ is: 'told', attempt })
    }
    attempt.signal.addEventListener('abort', told, { once: true })
    this.#note({ is: 'entered', attempt, token: lease.token })
    try {
      for (const [index, step] of body.entries()) await this.#step(attempt, task, step, index)
    } catch (error) {
      attempt.userError = error as Error
      throw error
    } finally {
      attempt.leftAt = this.#process.time
      this.#note({ is: 'left', attempt })
      attempt.signal.removeEventListener('abort', told)
    }
  }

  async #step(attempt: Attempt, task: TaskPlan, step: Step, index: number): Promise<void> {
    const { lease, signal } = attempt
    if (!lease || !signal) throw new Error('no lease')
    switch (step.do) {
      case 'work': {
        const work = this.#process.sleep(step.ms)
        await (task.heedsLoss ? untilAborted(work, signal) : work)
        break
      }
      case 'extend':
        this.#note({ is: 'extending', attempt })
        await lease.extend(step.lease)
        break
      case 'throw':
        throw new Error(`the body of ${attempt.name} failed`)
      case 'nest':
        await this.#attempt(this.#inner(attempt, `${index}`, step), task, step.body)
        break
      case 'siblings': {
        const work: readonly Step[] = [{ do: 'work', ms: step.ms }]
        const plan = { options: { wait: 20_000, lease: attempt.leaseMs } }
        const starts = Array.from({ length: step.count }, (_, i) =>
          this.#inner(attempt, `${index}.${i}`, plan),
        )
        await Promise.all(starts.map((start) => this.#attempt(start, task, work)))
        break
      }
    }
  }

  #inner(
    parent: Attempt,
    suffix: string,
    { key, options }: { readonly key?: number; readonly options: AttemptStart['options'] },
  ): AttemptStart {
    return {
      name: `${parent.name}/${suffix}`,
      process: this.#process,
      how: 'using',
      key: key === undefined ? parent.key : keyName(key),
      options,
      parent,
    }
  }

  #options(attempt: Attempt): object {
    const { wait, ...options } = attempt.options
    const { giveUpAfter } = attempt
    const controller = new AbortController()
    if (giveUpAfter !== undefined) void this.#process.sleep(giveUpAfter).then(() => controller.abort())
    return {
      ...options,
      ...(wait === undefined ? {} : { wait: wait === 'forever' ? Infinity : wait }),
      ...(giveUpAfter === undefined ? {} : { signal: controller.signal }),
    }
  }
}

/** What a release came to, in a word. */
function said(released: Promise<boolean>): Promise<string> {
  return released.then(String, (error: unknown) => outcomeOf(error, undefined))
}

/** As `fetch(url, { signal })` does it. */
function untilAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    void work.then(() => {
      signal.removeEventListener('abort', abort)
      resolve()
    })
  })
}

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Order, Report } from './plan.ts'

const PROGRAM = fileURLToPath(new URL('./worker.ts', import.meta.url))
const STOP_LIMIT_MS = 3000

/** A worker process, as far as its parent can know: by its reports. */
export class Worker {
  readonly number: number
  readonly pid: number
  /** Resolves to how the process ended: its exit code, or the signal that killed it. */
  readonly ended: Promise<number | string>
  ready = false
  alive = true
  /** Killed or stopped by us. Nothing else should end it. */
  dismissed: 'killed' | 'stopped' | null = null
  /** What it waits for or holds. */
  key: string | null = null
  token: bigint | null = null
  holdingSince = 0
  lingering = false
  readonly #child: ChildProcess

  constructor(number: number, file: string, onReport: (worker: Worker, report: Report) => void) {
    this.number = number
    this.#child = fork(PROGRAM, [file, this.name], {
      execArgv: ['--disable-warning=ExperimentalWarning', '--import', import.meta.resolve('tsx')],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      // Tokens are bigints, which JSON cannot carry.
      serialization: 'advanced',
    })
    this.pid = this.#child.pid ?? 0
    this.ended = once(this.#child, 'exit').then(([code, signal]) => {
      this.alive = false
      return (code ?? signal) as number | string
    })
    this.#child.on('message', (report: Report) => {
      this.#note(report)
      onReport(this, report)
    })
  }

  get name(): string {
    return `worker ${this.number}`
  }

  /** How the store knows it: a worker that is started again is another one. */
  get instance(): string {
    return `${this.name}, pid ${this.pid}`
  }

  get isWaiting(): boolean {
    return this.alive && this.key !== null && this.token === null
  }

  tell(order: Order): void {
    // One that has just ended needs no orders.
    if (this.#child.connected) this.#child.send(order, () => undefined)
  }

  async kill(): Promise<void> {
    this.dismissed = 'killed'
    this.#child.kill('SIGKILL')
    await this.ended
  }

  /** Asks it to end, and ends it if it does not. */
  async stop(): Promise<number | string> {
    this.dismissed ??= 'stopped'
    this.tell({ do: 'stop' })
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), STOP_LIMIT_MS)
    const end = await this.ended
    clearTimeout(timer)
    return end
  }

  #note(report: Report): void {
    switch (report.is) {
      case 'ready':
        this.ready = true
        break
      case 'waiting':
        this.key = report.key
        this.token = null
        break
      case 'holding':
        this.token = report.token
        this.holdingSince = performance.now()
        break
      case 'lingering':
        this.lingering = true
        break
      case 'done':
        break
      case 'resting':
      case 'failed':
        this.key = null
        this.token = null
        break
    }
  }
}

/** All workers that were ever started, the dead ones too. */
export class Crew {
  readonly #file: string
  readonly #onReport: (worker: Worker, report: Report) => void
  readonly all: Worker[] = []

  constructor(file: string, onReport: (worker: Worker, report: Report) => void) {
    this.#file = file
    this.#onReport = onReport
  }

  get alive(): Worker[] {
    return this.all.filter((worker) => worker.alive)
  }

  /** Those that ended by themselves. */
  get deserters(): Worker[] {
    return this.all.filter((worker) => !worker.alive && worker.dismissed === null)
  }

  start(number: number): Worker {
    const worker = new Worker(number, this.#file, this.#onReport)
    this.all.push(worker)
    return worker
  }

  called(instance: string | null): Worker | undefined {
    return this.all.find((worker) => worker.instance === instance)
  }

  /** Resolves to those that did not end well. One that had not even begun may end as it likes. */
  async stop(): Promise<Worker[]> {
    const stopped = await Promise.all(
      this.alive.map(async (worker) => ({ worker, well: (await worker.stop()) === 0 || !worker.ready })),
    )
    return stopped.filter(({ well }) => !well).map(({ worker }) => worker)
  }
}

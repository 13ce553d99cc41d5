import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Order, Report, Setup } from './child.ts'
import { LONG_MS } from './claims.ts'
import type { ProcessOptions } from './options.ts'
import type { Stage } from './stage.ts'

// Beside this file, in TypeScript or compiled.
const CHILD = new URL(import.meta.url.endsWith('.ts') ? './child.ts' : './child.js', import.meta.url)

/** A real process with `Locks` of its own, which does what it is told. See `child.ts`. */
export class Worker {
  readonly #process: ChildProcess
  readonly #pending = new Map<number, { resolve: (report: Report) => void; reject: (error: Error) => void }>()
  readonly #ready: Promise<void>
  /** Resolves when the process has ended, to its exit code; null if a signal ended it. */
  readonly ended: Promise<number | null>
  #orders = 0

  private constructor(process: ChildProcess) {
    this.#process = process
    this.#ready = new Promise((resolve, reject) => {
      process.on('message', (report: Report) => {
        if (report.order === undefined) resolve()
        else this.#settle(report)
      })
      process.once('error', reject)
      process.once('exit', () => reject(new Error('the child process ended before it was ready')))
    })
    this.ended = new Promise((resolve) => {
      process.once('exit', (code) => {
        for (const { reject } of this.#pending.values()) reject(new Error('the child process has ended'))
        this.#pending.clear()
        resolve(code)
      })
    })
  }

  static async start(stage: Stage): Promise<Worker> {
    const options = stage.settings.processes as ProcessOptions
    const setup: Setup = {
      module: moduleUrl(options.module),
      argument: options.argument ?? null,
      leaseMs: LONG_MS,
      waitMs: stage.settings.patienceMs,
    }
    const isTypeScript = [CHILD.href, setup.module].some((url) => /\.[mc]?tsx?$/u.test(url))
    const worker = new Worker(
      fork(fileURLToPath(CHILD), [JSON.stringify(setup)], {
        execArgv: [...(options.execArgv ?? (isTypeScript ? ['--import', 'tsx'] : []))],
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      }),
    )
    stage.atEnd(() => worker.kill('SIGKILL'))
    await worker.#ready
    return worker
  }

  /** Tells the process to do something; resolves when it says that it is done. */
  tell(order: Order): Promise<Report> {
    this.#orders += 1
    const id = this.#orders
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject })
      this.#process.send({ id, order }, (error) => {
        if (error) reject(error)
      })
    })
  }

  async acquire(key: string, how: { leaseMs?: number; renew?: boolean } = {}): Promise<bigint> {
    const { token } = await this.tell({ do: 'acquire', key, ...how })
    return BigInt(token ?? '')
  }

  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#process.kill(signal)
  }

  async kill(signal: 'SIGKILL'): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return
    this.#process.kill(signal)
    await this.ended
  }

  #settle({ order = 0, ...report }: Report): void {
    const pending = this.#pending.get(order)
    this.#pending.delete(order)
    if (report.error === undefined) pending?.resolve(report)
    else pending?.reject(new Error(`in the child process: ${report.error}`))
  }
}

function moduleUrl(module: string | URL): string {
  if (module instanceof URL) return module.href
  return module.startsWith('file:') ? module : pathToFileURL(module).href
}

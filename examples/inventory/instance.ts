import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Report, ServiceName, Setup, Usage, Word } from './messages.ts'

const PROGRAM = fileURLToPath(new URL('./service.ts', import.meta.url))
const STOP_LIMIT_MS = 8000
const REPORT_LIMIT_MS = 1000

/** A process of a service, as far as its parent knows. */
export class Instance {
  readonly service: ServiceName
  readonly name: string
  /** Resolves when it takes requests; rejects if it ends before. */
  readonly ready: Promise<void>
  readonly ended: Promise<void>
  readonly pid: number
  alive = true
  paused = false
  url: string | null = null
  /** What it holds and has not written yet. */
  thinkingOf: string | null = null
  readonly #child: ChildProcess
  #onUsage: ((usage: Usage) => void) | null = null
  #onPaused: ((code: string) => void) | null = null

  constructor(service: ServiceName, name: string, setup: Setup) {
    this.service = service
    this.name = name
    this.#child = fork(PROGRAM, [service, name, JSON.stringify(setup)], {
      execArgv: ['--disable-warning=ExperimentalWarning', '--import', import.meta.resolve('tsx')],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      serialization: 'advanced',
    })
    this.pid = this.#child.pid ?? 0
    this.ended = once(this.#child, 'exit').then(() => {
      this.alive = false
    })
    this.ready = new Promise((resolve, reject) => {
      void this.ended.then(() => reject(new Error(`${name} ended before it was ready`)))
      this.#child.on('message', (report: Report) => {
        if (report.is === 'thinking') this.thinkingOf = report.code
        if (report.is === 'usage') this.#onUsage?.(report.usage)
        if (report.is === 'paused') this.#paused(report.code)
        if (report.is !== 'ready') return
        this.url = report.url
        resolve()
      })
    })
    // Whoever wants to know waits for it.
    this.ready.catch(() => undefined)
  }

  tell(word: Word): void {
    if (this.#child.connected) this.#child.send(word, () => undefined)
  }

  /** Null if it does not answer, as while it is paused. */
  usage(): Promise<Usage | null> {
    if (!this.alive || this.paused) return Promise.resolve(null)
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(null), REPORT_LIMIT_MS)
      this.#onUsage = (usage) => {
        clearTimeout(timer)
        resolve(usage)
      }
      this.tell({ do: 'report' })
    })
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.ended
  }

  pause(): void {
    this.paused = true
    this.#child.kill('SIGSTOP')
  }

  /** Resolves, when it stands still, to what it holds and has not written yet. */
  pauseAsHolder(): Promise<string> {
    return new Promise((resolve) => {
      this.#onPaused = resolve
      this.tell({ do: 'pause' })
    })
  }

  resume(): void {
    this.paused = false
    this.#child.kill('SIGCONT')
  }

  async stop(): Promise<void> {
    if (!this.alive) return
    if (this.paused) this.resume()
    this.tell({ do: 'stop' })
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), STOP_LIMIT_MS)
    await this.ended
    clearTimeout(timer)
  }

  #paused(code: string): void {
    this.paused = true
    this.#onPaused?.(code)
  }
}

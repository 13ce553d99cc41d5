import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Account } from './account.ts'
import { freePort } from './free-port.ts'
import { processTree, survivors } from './process-tree.ts'
import type { ServerFolder } from './server-folder.ts'

/** What is special to a kind of server. */
export interface ServerProgram {
  /** For people. */
  readonly name: string
  readonly file: string
  readonly account: Account | undefined
  /** Must keep the server in the foreground, its log on standard output or error. */
  args(port: number): readonly string[]
  /** What the log says once the port is bound. An answer alone may be that of another server on the port. */
  listening(port: number): string
  /** Rejects, in a bounded time, if the server does not answer yet. */
  probe(port: number): Promise<void>
}

const LIMIT_MS = 30_000

/** A server that this process started, on a port of 127.0.0.1 that it keeps when it is started again. */
export class ServerProcess {
  readonly port: number
  readonly #program: ServerProgram
  readonly #folder: ServerFolder
  #child: ChildProcess | undefined
  #frozen: readonly number[] = []

  private constructor(program: ServerProgram, folder: ServerFolder, port: number) {
    this.#program = program
    this.#folder = folder
    this.port = port
  }

  /** Resolves when the server answers. */
  static async start(program: ServerProgram, folder: ServerFolder): Promise<ServerProcess> {
    for (let attempt = 1; ; attempt += 1) {
      const server = new ServerProcess(program, folder, await freePort())
      try {
        await server.start()
        return server
      } catch (error) {
        if (attempt === 5 || !/address already in use/i.test(String(error))) throw error
      }
    }
  }

  get pid(): number {
    const pid = this.running ? this.#child?.pid : undefined
    if (pid === undefined) throw new Error(`${this.#program.name} does not run`)
    return pid
  }

  get running(): boolean {
    return this.#child?.pid !== undefined && this.#child.exitCode === null && this.#child.signalCode === null
  }

  async start(): Promise<void> {
    if (this.running) throw new Error(`${this.#program.name} runs already`)
    const { file, account } = this.#program
    const log = openSync(this.#logFile, 'w')
    const child = spawn(file, this.#program.args(this.port), {
      cwd: this.#folder.path,
      // Ctrl-C is for the tests, which then stop their servers in order.
      detached: true,
      stdio: ['ignore', log, log],
      ...account,
    })
    closeSync(log)
    child.unref()
    this.#child = child
    if (child.pid !== undefined) this.#folder.watchOver([child.pid])
    // Its number may soon be that of a stranger.
    child.once('exit', () => this.#folder.watchOver([]))
    let fault: unknown
    child.once('error', (error) => (fault = error))
    const end = performance.now() + LIMIT_MS
    for (;;) {
      // First, so that a child that could not be spawned has said so.
      await sleep(10)
      if (!this.running) throw this.#failure('ended instead of starting', fault)
      try {
        if (this.#log().includes(this.#program.listening(this.port))) {
          await this.#program.probe(this.port)
          return
        }
      } catch (error) {
        fault = error
      }
      if (performance.now() > end) {
        await this.kill()
        throw this.#failure(`did not answer within ${LIMIT_MS} ms`, fault)
      }
    }
  }

  /** Asks it to end, and ends it if it does not. A frozen one goes on first. */
  async end(signal: NodeJS.Signals): Promise<void> {
    if (!this.running) return
    this.resume()
    process.kill(this.pid, signal)
    const end = performance.now() + LIMIT_MS
    while (this.running) {
      if (performance.now() > end) {
        await this.kill()
        throw this.#failure(`did not end within ${LIMIT_MS} ms after ${signal}`)
      }
      await sleep(2)
    }
  }

  /** As if the power failed: the server and its children are gone at once. */
  async kill(): Promise<void> {
    if (!this.running) return
    const all = await this.#stopAll()
    this.#frozen = []
    for (const pid of all) signal(pid, 'SIGKILL')
    await this.#until('be killed', () => !this.running && survivors(all).length === 0)
  }

  /** Stands still, with all its children, until `resume`; connections stay open and get no answer. */
  async pause(): Promise<void> {
    this.#frozen = await this.#stopAll()
  }

  resume(): void {
    // Children first: they answer to no one before their parent runs.
    for (const pid of [...this.#frozen].reverse()) signal(pid, 'SIGCONT')
    if (this.#frozen.length > 0 && this.running) this.#folder.watchOver([this.pid])
    this.#frozen = []
  }

  /** A stopped server starts no more children, so that none is missed. */
  async #stopAll(): Promise<number[]> {
    const { pid } = this
    await this.#stopThese([pid])
    const all = processTree(pid)
    this.#folder.watchOver(all)
    await this.#stopThese(all)
    return all
  }

  async #stopThese(pids: readonly number[]): Promise<void> {
    for (const pid of pids) signal(pid, 'SIGSTOP')
    await this.#until('stand still', () => survivors(pids).every(({ state }) => /^T/i.test(state)))
  }

  async #until(what: string, holds: () => boolean): Promise<void> {
    const end = performance.now() + LIMIT_MS
    while (!holds()) {
      if (performance.now() > end) throw this.#failure(`did not ${what} within ${LIMIT_MS} ms`)
      await sleep(2)
    }
  }

  get #logFile(): string {
    return join(this.#folder.path, 'log')
  }

  #log(): string {
    try {
      return readFileSync(this.#logFile, 'utf8')
    } catch {
      return ''
    }
  }

  #failure(what: string, cause?: unknown): Error {
    const { name, file } = this.#program
    const tail = this.#log().trim().split('\n').slice(-30).join('\n')
    return new Error(`${name} (${file}, port ${this.port}) ${what}; the end of its log:\n${tail}`, { cause })
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // It ended meanwhile.
  }
}

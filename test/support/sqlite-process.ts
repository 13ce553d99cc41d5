import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Call } from './sqlite-child.ts'

const CHILD = fileURLToPath(new URL('./sqlite-child.ts', import.meta.url))

/** Another process, to be told what to do with a SQLite store. */
export class SqliteProcess {
  readonly #child: ChildProcess
  readonly #waiting = new Map<number, { resolve: (value: never) => void; reject: (error: Error) => void }>()
  #calls = 0

  private constructor(child: ChildProcess) {
    this.#child = child
    child.on('message', (reply: Reply) => {
      const waiting = this.#waiting.get(reply.id)
      this.#waiting.delete(reply.id)
      if (reply.error)
        waiting?.reject(Object.assign(new Error(reply.error.message), { code: reply.error.code }))
      else waiting?.resolve(reply.result as never)
    })
    child.on('exit', (code, signal) => {
      for (const { reject } of this.#waiting.values())
        reject(new Error(`the process ended: ${code ?? signal}`))
    })
  }

  /** `user`: a user id to run as, if this process may change it. */
  static async start(user?: number): Promise<SqliteProcess> {
    const child = fork(CHILD, {
      execArgv: ['--import', 'tsx', '--no-warnings'],
      ...(user === undefined ? {} : { uid: user, gid: user }),
    })
    await once(child, 'message')
    return new SqliteProcess(child)
  }

  static startMany(count: number): Promise<SqliteProcess[]> {
    return Promise.all(Array.from({ length: count }, () => SqliteProcess.start()))
  }

  call<T>(name: Call['name'], ...args: unknown[]): Promise<T> {
    const id = (this.#calls += 1)
    return new Promise<T>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject })
      this.#child.send({ id, name, args })
    })
  }

  async end(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const ended = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await ended
  }
}

interface Reply {
  readonly id: number
  readonly result?: unknown
  readonly error?: { readonly message: string; readonly code?: string }
}

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { bundled } from './bundled.ts'

/** Another process, to be told what to do. `Name` is what it can be told; the file says so by messages. */
export class TestProcess<Name extends string> {
  readonly #child: ChildProcess
  readonly #waiting = new Map<number, { resolve: (value: never) => void; reject: (error: Error) => void }>()
  /** Resolves when it has ended, to its exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals>
  /** What it wrote to standard error until it ended. */
  readonly complaints: Promise<string>
  #calls = 0

  private constructor(child: ChildProcess) {
    this.#child = child
    this.complaints = child.stderr ? text(child.stderr) : Promise.resolve('')
    child.on('message', (reply: Reply) => {
      const waiting = this.#waiting.get(reply.id)
      this.#waiting.delete(reply.id)
      if (reply.error)
        waiting?.reject(Object.assign(new Error(reply.error.message), { code: reply.error.code }))
      else waiting?.resolve(reply.result as never)
    })
    this.ended = new Promise((resolve) => {
      child.once('exit', (code, signal) => {
        for (const { reject } of this.#waiting.values())
          reject(new Error(`the process ended: ${code ?? signal}`))
        resolve(code ?? (signal as NodeJS.Signals))
      })
    })
  }

  static async fork<N extends string>(file: string): Promise<TestProcess<N>> {
    const child = fork(await bundled(file), {
      execArgv: ['--no-warnings'],
      serialization: 'advanced',
      stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
    })
    const started = new TestProcess<N>(child)
    await Promise.race([once(child, 'message'), started.#endedEarly()])
    return started
  }

  call<T>(name: Name, ...args: unknown[]): Promise<T> {
    const id = (this.#calls += 1)
    return new Promise<T>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject })
      this.#child.send({ id, name, args }, (error) => error && reject(error))
    })
  }

  signal(name: 'SIGSTOP' | 'SIGCONT' | 'SIGKILL'): void {
    this.#child.kill(name)
  }

  async end(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.ended
  }

  async #endedEarly(): Promise<never> {
    const how = await this.ended
    throw new Error(`a child process ended before it was ready (${how}): ${await this.complaints}`)
  }
}

interface Reply {
  readonly id: number
  readonly result?: unknown
  readonly error?: { readonly message: string; readonly code?: string }
}

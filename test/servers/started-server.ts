import type { ServerFolder } from './server-folder.ts'
import type { ServerProcess } from './server-process.ts'

const HOST = '127.0.0.1'

/** A server that was started here, in a folder of its own. It is in nobody's way when it stops: its data is thrown away. */
export class StartedServer {
  readonly host: string = HOST
  readonly port: number
  readonly #process: ServerProcess
  readonly #folder: ServerFolder
  #paused = false

  constructor(process: ServerProcess, folder: ServerFolder) {
    this.#process = process
    this.#folder = folder
    this.port = process.port
  }

  /** Another after each start. */
  get pid(): number {
    return this.#process.pid
  }

  /** Not while it is paused. */
  get running(): boolean {
    return this.#process.running && !this.#paused
  }

  /** After `kill`. Resolves when the server has loaded what it kept, and answers. */
  async start(): Promise<void> {
    await this.#process.start()
  }

  async restart(): Promise<void> {
    await this.#process.end('SIGTERM')
    this.#paused = false
    await this.start()
  }

  /** The server stands still: connections stay open and get no answer. */
  async pause(): Promise<void> {
    this.#paused = true
    await this.#process.pause()
  }

  resume(): void {
    this.#process.resume()
    this.#paused = false
  }

  async kill(): Promise<void> {
    await this.#process.kill()
    this.#paused = false
  }

  async stop(): Promise<void> {
    try {
      await this.#process.kill()
    } finally {
      await this.#folder.remove()
    }
  }
}

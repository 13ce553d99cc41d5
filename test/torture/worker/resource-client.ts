import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import type { Write, Written } from '../resource.ts'

/** The resource as a worker has it. */
export class ResourceClient {
  readonly #socket: Socket
  readonly #waiting = new Map<number, (answer: Written['guarded'] | 'unknown') => void>()
  #writes = 0

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.on('error', () => {})
    socket.once('close', () => {
      for (const settle of this.#waiting.values()) settle('unknown')
    })
    const lines = createInterface({ input: socket })
    lines.on('error', () => {}) // That of the socket, once more.
    lines.on('line', (line) => {
      const { number, guarded } = JSON.parse(line) as Written
      this.#waiting.get(number)?.(guarded)
      this.#waiting.delete(number)
    })
  }

  static async open(path: string): Promise<ResourceClient> {
    const socket = connect(path)
    await once(socket, 'connect')
    return new ResourceClient(socket)
  }

  write(write: Omit<Write, 'number'>): Promise<Written['guarded'] | 'unknown'> {
    this.#writes += 1
    const number = this.#writes
    return new Promise((settle) => {
      this.#waiting.set(number, settle)
      this.#socket.write(`${JSON.stringify({ number, ...write } satisfies Write)}\n`)
    })
  }

  close(): void {
    this.#socket.end()
  }
}

import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { memoryFence } from '../../src/fence/memory.ts'
import { LockError } from '../../src/errors.ts'
import type { HistoryWriter } from './history.ts'

export interface Write {
  readonly number: number
  readonly worker: string
  readonly id: number
  readonly key: string
  readonly token: string
}

export interface Written {
  readonly number: number
  readonly guarded: 'taken' | 'stale'
}

/** What the locks protect: behind a guard, and without one. It is in a process that no fault touches. */
export class Resource {
  readonly #history: HistoryWriter
  readonly #fence = memoryFence()
  readonly #sockets = new Set<Socket>()
  readonly #server: Server

  private constructor(history: HistoryWriter) {
    this.#history = history
    this.#server = createServer((socket) => this.#serve(socket))
  }

  static async listen(path: string, history: HistoryWriter): Promise<Resource> {
    const resource = new Resource(history)
    await once(resource.#server.listen(path), 'listening')
    return resource
  }

  close(): void {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket)
    socket.on('error', () => {}) // Killed workers; always followed by `close`.
    socket.once('close', () => this.#sockets.delete(socket))
    const lines = createInterface({ input: socket })
    lines.on('error', () => {}) // That of the socket, once more.
    lines.on('line', (line) => {
      const written = this.#write(JSON.parse(line) as Write)
      // Of what is no token the worker has no answer; its own history has it.
      if (!written) socket.destroy()
      else if (socket.writable) socket.write(`${JSON.stringify(written)}\n`)
    })
  }

  #write({ number, worker, id, key, token }: Write): Written | null {
    if (!/^\d+$/.test(token)) return null
    let guarded: Written['guarded'] = 'taken'
    try {
      this.#fence.check(key, BigInt(token))
    } catch (error) {
      if (!(error instanceof LockError) || error.code !== 'STALE_TOKEN') throw error
      guarded = 'stale'
    }
    this.#history.note({ is: 'written', worker, id, key, token, guarded })
    return { number, guarded }
  }
}

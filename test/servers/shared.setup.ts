// One server of a kind for all test files of a project, started when the first of them asks for it.
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import type { TestProject } from 'vitest/node'
import { openServer, type OpenServer, type ServerKind } from './open-server.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Where shared-server.ts asks. */
    serversPort: number
  }
}

/** To the question, which is the kind. */
export interface SharedServerReply {
  readonly url?: string
  readonly error?: string
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const servers = new Map<ServerKind, Promise<OpenServer>>()

  async function answer(socket: Socket): Promise<void> {
    let question = ''
    socket.on('data', (chunk) => (question += chunk.toString()))
    await once(socket, 'end')
    const kind = question as ServerKind
    const server = servers.get(kind) ?? openServer(kind)
    servers.set(kind, server)
    const reply = await server.then(
      ({ url }): SharedServerReply => ({ url }),
      (error: unknown): SharedServerReply => ({ error: String(error) }),
    )
    socket.end(JSON.stringify(reply))
  }

  const listener = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => {}) // A test process may end before it has its answer.
    answer(socket).catch(() => socket.destroy())
  })
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  project.provide('serversPort', (listener.address() as AddressInfo).port)

  return async () => {
    listener.close()
    for (const server of await Promise.allSettled(servers.values())) {
      if (server.status === 'fulfilled') await server.value.stop()
    }
  }
}

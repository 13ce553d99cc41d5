import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * A port of 127.0.0.1 that was free a moment ago; whoever binds it may still come too late. It is below those
 * that systems give to outgoing connections, so that a server finds its port free when it restarts.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const port = 15_000 + Math.floor(Math.random() * 17_000)
    const listener = createServer().listen(port, '127.0.0.1')
    try {
      await once(listener, 'listening')
    } catch {
      continue
    }
    listener.close()
    await once(listener, 'close')
    return port
  }
  throw new Error('no free port in 100 attempts')
}

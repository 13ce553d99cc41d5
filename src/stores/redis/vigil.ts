import { CONNECT_LIMIT_MS } from './opened.ts'

/** Gives a connection up on which nothing comes back any more: it may be dead, though nobody has said so. */
export class Vigil {
  #heardAt = -Infinity
  #gaveUpAt = -Infinity

  /** `giveUp` ends the connection, and with it `work`. */
  async over<T>(work: Promise<T>, giveUp: () => void): Promise<T> {
    const sentAt = performance.now()
    const look = (): void => {
      const silentMs = performance.now() - Math.max(sentAt, this.#heardAt)
      // Another call may take long on the server, with this one behind it.
      if (silentMs < CONNECT_LIMIT_MS) return lookIn(CONNECT_LIMIT_MS - silentMs)
      this.#gaveUpAt = performance.now()
      giveUp()
    }
    let timer: NodeJS.Timeout | undefined
    const lookIn = (ms: number): void => void (timer = setTimeout(look, Math.ceil(ms)).unref())
    lookIn(CONNECT_LIMIT_MS)
    try {
      return await work
    } catch (error) {
      throw this.#gaveUpAt >= sentAt ? silence(error) : error
    } finally {
      this.#heardAt = performance.now()
      clearTimeout(timer)
    }
  }
}

function silence(cause: unknown): Error {
  const message = `no answer within ${CONNECT_LIMIT_MS} ms, so the connection was given up`
  return Object.assign(new Error(message, { cause }), { code: 'ETIMEDOUT' })
}

/**
 * A network between a client and a server on 127.0.0.1 that does what networks do.
 *
 *     const proxy = await tcpProxy(server.port)       // connect to proxy.port
 *     proxy.cut()            // every connection is reset
 *     proxy.hangUp()         // every connection is closed in order
 *     proxy.freeze()         // nothing arrives in either direction, not even that a side has closed
 *     proxy.dropReplies()    // what clients send arrives, what the server sends is lost
 *     proxy.thaw()           // the end of both; what was frozen arrives late
 *     proxy.strand()         // the present connections are dead and no one is told; new ones work
 *     proxy.refuse()         // no new connections; await proxy.accept()
 *     proxy.delay(20)        // from now on, each way takes 20 ms
 *     proxy.close()
 *
 * As in TCP, no bytes are missing in the middle of a stream: a connection of the time of `dropReplies` is deaf for
 * ever, `thaw` is for those that come after it. What is frozen is kept in memory without a bound.
 */
import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { freePort } from './free-port.ts'
import { TcpLane, type Weather } from './tcp-lane.ts'

export async function tcpProxy(targetPort: number): Promise<TcpProxy> {
  for (let attempt = 1; ; attempt += 1) {
    const proxy = new TcpProxy(targetPort, await freePort())
    try {
      await proxy.accept()
      return proxy
    } catch (error) {
      if (attempt === 5) throw error
    }
  }
}

export class TcpProxy {
  readonly port: number
  readonly #targetPort: number
  readonly #pairs = new Set<Pair>()
  readonly #weather: Weather = { frozen: false, delayMs: 0 }
  #dropsReplies = false
  #joined = 0
  #listener: Server | undefined

  constructor(targetPort: number, port: number) {
    this.#targetPort = targetPort
    this.port = port
  }

  /** Those that clients have open now. */
  get connections(): number {
    return [...this.#pairs].filter(({ client }) => !client.destroyed && !client.readableEnded).length
  }

  /** All that clients ever had here. */
  get joined(): number {
    return this.#joined
  }

  async accept(): Promise<void> {
    if (this.#listener) return
    const listener = createServer({ allowHalfOpen: true, noDelay: true }, (client) => this.#join(client))
    this.#listener = listener
    try {
      await once(listener.listen(this.port, '127.0.0.1'), 'listening')
    } catch (error) {
      this.#listener = undefined
      throw error
    }
  }

  refuse(): void {
    this.#listener?.close()
    this.#listener = undefined
  }

  cut(): void {
    for (const { client, server } of this.#pairs) {
      client.resetAndDestroy()
      server.resetAndDestroy()
    }
  }

  hangUp(): void {
    for (const { client, server } of this.#pairs) {
      client.destroy()
      server.destroy()
    }
  }

  freeze(): void {
    this.#weather.frozen = true
  }

  dropReplies(): void {
    this.#dropsReplies = true
    for (const { back } of this.#pairs) back.lose()
  }

  thaw(): void {
    this.#weather.frozen = false
    this.#dropsReplies = false
    for (const { there, back } of this.#pairs) for (const lane of [there, back]) lane.flush()
  }

  strand(): void {
    for (const { there, back } of this.#pairs) for (const lane of [there, back]) lane.lose()
  }

  delay(ms: number): void {
    this.#weather.delayMs = ms
  }

  close(): void {
    this.refuse()
    this.cut()
  }

  #join(client: Socket): void {
    this.#joined += 1
    const server = connect({ port: this.#targetPort, host: '127.0.0.1', allowHalfOpen: true, noDelay: true })
    const there = new TcpLane(client, server, this.#weather)
    const back = new TcpLane(server, client, this.#weather)
    if (this.#dropsReplies) back.lose()
    const pair: Pair = { client, server, there, back }
    this.#pairs.add(pair)
    const forget = (): void => {
      if (client.closed && server.closed) this.#pairs.delete(pair)
    }
    client.once('close', forget)
    server.once('close', forget)
  }
}

interface Pair {
  readonly client: Socket
  readonly server: Socket
  readonly there: TcpLane
  readonly back: TcpLane
}

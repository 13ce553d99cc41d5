/**
 * The address of a node of a replica set, through which other nodes and clients reach it. Servers that take test
 * commands say who they are when they connect, so that the way between two nodes can be cut while clients reach both.
 */
import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'

// In the first message of a node: a string of BSON, with its length before it.
const SENDER = Buffer.from('\u0002hostInfo\0')
const LENGTH_BYTES = 4

export class MongoBridge {
  readonly #node: number
  readonly #joins: (from: number, to: number) => boolean
  readonly #pairs = new Set<Pair>()
  readonly #listener: Server

  private constructor(node: number, joins: (from: number, to: number) => boolean) {
    this.#node = node
    this.#joins = joins
    this.#listener = createServer({ noDelay: true }, (client) => this.#greet(client))
  }

  /** Nodes are named by their ports. */
  static async open(node: number, joins: (from: number, to: number) => boolean): Promise<MongoBridge> {
    const bridge = new MongoBridge(node, joins)
    await once(bridge.#listener.listen(0, '127.0.0.1'), 'listening')
    return bridge
  }

  get port(): number {
    const address = this.#listener.address()
    if (address === null || typeof address === 'string') throw new Error('the bridge is closed')
    return address.port
  }

  /** Cuts the connections of nodes that are not joined to this one any more. */
  sweep(): void {
    for (const pair of this.#pairs) if (!this.#allows(pair.from)) cut(pair)
  }

  close(): void {
    this.#listener.close()
    for (const pair of this.#pairs) cut(pair)
  }

  #allows(from: number | undefined): boolean {
    return from === undefined || from === this.#node || this.#joins(from, this.#node)
  }

  #greet(client: Socket): void {
    const pair: Pair = { client, server: undefined, from: undefined }
    this.#pairs.add(pair)
    client.on('error', () => {}) // Always followed by `close`.
    client.once('close', () => {
      this.#pairs.delete(pair)
      pair.server?.destroy()
    })
    let first = Buffer.alloc(0)
    const read = (chunk: Buffer): void => {
      first = Buffer.concat([first, chunk])
      // Each message begins with its length.
      if (first.length < LENGTH_BYTES || first.length < first.readUInt32LE()) return
      client.off('data', read).pause()
      this.#join(pair, first)
    }
    client.on('data', read)
  }

  #join(pair: Pair, first: Buffer): void {
    const { client } = pair
    pair.from = senderOf(first)
    if (!this.#allows(pair.from)) return cut(pair)
    const server = connect({ port: this.#node, host: '127.0.0.1', noDelay: true })
    pair.server = server
    server.on('error', () => {})
    server.once('close', () => client.destroy())
    server.write(first)
    client.pipe(server).pipe(client)
  }
}

interface Pair {
  readonly client: Socket
  server: Socket | undefined
  /** None for a client, and while that is not known yet. */
  from: number | undefined
}

function cut({ client, server }: Pair): void {
  client.resetAndDestroy()
  server?.resetAndDestroy()
}

/** The port of the node that sent this message; none if that was a client. */
function senderOf(message: Buffer): number | undefined {
  const field = message.indexOf(SENDER)
  if (field === -1) return undefined
  const start = field + SENDER.length + LENGTH_BYTES
  const name = message.toString('latin1', start, message.indexOf(0, start))
  return Number(name.slice(name.lastIndexOf(':') + 1))
}

import { setImmediate } from 'node:timers/promises'
import type { Ioredis, IoredisCommander, IoredisPipeline } from '../../databases/ioredis.ts'
import type { ScriptCall, Waited, WaitingCall } from './client.ts'
import { Deadline } from './deadline.ts'

type Send = (text: string, keyCount: number, ...keysAndArgs: string[]) => Promise<unknown>

/** Scripts on a `Redis` or a `Cluster` of ioredis. */
export class IoredisCalls {
  readonly #client: IoredisCommander
  readonly #evalSha: Send
  readonly #eval: Send
  #connecting: Promise<void> | undefined

  constructor(client: IoredisCommander) {
    this.#client = client
    // Past `enableAutoPipelining`: a pipeline that mixes slots gives up on -MOVED where a single command follows.
    this.#evalSha = sender(client, 'evalsha')
    this.#eval = sender(client, 'eval')
  }

  async evalSha(...[sha, keys, args, deadline]: ScriptCall): Promise<unknown> {
    if (this.#client.status !== 'ready') await this.#usableBy(deadline)
    return this.#evalSha(sha, keys.length, ...keys, ...args)
  }

  async eval(...[text, keys, args, deadline]: ScriptCall): Promise<unknown> {
    if (this.#client.status !== 'ready') await this.#usableBy(deadline)
    return this.#eval(text, keys.length, ...keys, ...args)
  }

  async evalShaAndWait(...[sha, keys, args, replicas, limitMs, deadline]: WaitingCall): Promise<Waited> {
    if (this.#client.status !== 'ready') await this.#usableBy(deadline)
    return evaluateAndWait(this.#client.pipeline(), [sha, keys, args, replicas, limitMs])
  }

  /** As above, on a node of a cluster that has told that the slot is on its way there. */
  async evalShaAndWaitAt(
    node: Ioredis,
    ...[sha, keys, args, replicas, limitMs]: WaitingCall
  ): Promise<Waited> {
    const pipeline = node.pipeline()
    pipeline.asking()
    // A node need not know the prefix of its cluster.
    const prefix = node.options.keyPrefix === undefined ? (this.#client.options.keyPrefix ?? '') : ''
    const names = keys.map((key) => prefix + key)
    return evaluateAndWait(pipeline, [sha, names, args, replicas, limitMs])
  }

  /** A client without an offline queue refuses what comes while it connects: that is waited for. */
  async usable(): Promise<void> {
    await refuseClosed(this.#client)
    const { status, options } = this.#client
    const queues = (options as { enableOfflineQueue?: boolean }).enableOfflineQueue !== false
    if (!queues && ['wait', 'connecting', 'connect'].includes(status)) await this.connected()
  }

  /** Rejects if an attempt to connect fails, also if the client will try again. */
  connected(): Promise<void> {
    // One for all that wait: listeners are few.
    this.#connecting ??= connected(this.#client).finally(() => (this.#connecting = undefined))
    return this.#connecting
  }

  async #usableBy(deadline = new Deadline()): Promise<void> {
    await this.usable()
    deadline.check()
  }
}

async function evaluateAndWait(
  pipeline: IoredisPipeline,
  [sha, keys, args, replicas, limitMs]: WaitingCall,
): Promise<Waited> {
  pipeline.evalsha(sha, keys.length, ...keys, ...args)
  pipeline.wait(replicas, limitMs)
  const [evaluated, waited] = ((await pipeline.exec()) ?? []).slice(-2)
  const error = evaluated?.[0] ?? waited?.[0]
  if (error) throw error
  // A text with `stringNumbers`.
  return [evaluated?.[1], Number(waited?.[1])]
}

function sender(client: IoredisCommander, name: string): Send {
  return (client.createBuiltinCommand(name).string as Send).bind(client)
}

async function connected(client: IoredisCommander): Promise<void> {
  await refuseClosed(client)
  if (client.status === 'ready') return
  let fault: Error | undefined
  let settle: () => void = () => undefined
  const note = (error: unknown): void => void (fault = error as Error)
  const settled = new Promise<void>((resolve) => (settle = resolve))
  const ends = ['ready', 'close', 'end']
  for (const event of ends) client.on(event, settle)
  client.on('error', note)
  if (client.status === 'wait') client.connect().catch(() => undefined)
  await settled
  for (const event of ends) client.removeListener(event, settle)
  client.removeListener('error', note)
  if (client.status !== 'ready') throw fault ?? closed()
}

/** A `Cluster` that is closed may go from `end` back to `close`, and then, or in a pipeline, waits for ever. */
async function refuseClosed(client: IoredisCommander): Promise<void> {
  // Of one that will connect again, this is so for a tick.
  if (client.status === 'close') await setImmediate()
  if (client.status === 'close' || client.status === 'end') throw closed()
}

/** As ioredis says it. */
function closed(): Error {
  return new Error('Connection is closed.')
}

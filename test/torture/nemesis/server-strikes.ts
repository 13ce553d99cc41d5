import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '../../simulation/random.ts'
import type { ServerLogs } from '../arenas/server-logs.ts'
import type { Strike } from './strike.ts'

interface Server {
  readonly port: number
  readonly pid: number
  pause(): Promise<void>
  resume(): void
  kill(): Promise<void>
  start(): Promise<void>
  restart(mode: 'fast'): Promise<void>
}

interface Manner {
  readonly logs: ServerLogs
  /** Whether it keeps nothing over a start. */
  readonly forgets: boolean
}

/** What befalls a server that stands alone. */
export function serverStrike(random: Random, server: Server, { logs, forgets }: Manner): Strike {
  const target = `server ${server.port}`
  const kind = random.weighted([
    [3, 'paused'],
    [2, 'killed'],
    [1, 'restarted'],
  ] as const)
  if (kind === 'paused') {
    const ms = random.between(300, 5000)
    return {
      ...{ fault: 'server paused', target, loses: false, ms },
      begin: () => server.pause(),
      end: () => server.resume(),
    }
  }
  const killed = kind === 'killed'
  return {
    ...{ fault: `server ${kind}`, target, loses: forgets, ms: killed ? random.between(0, 2500) : 0 },
    begin: async () => {
      logs.keep([server])
      await (killed ? server.kill() : server.restart('fast'))
    },
    end: () => (killed ? server.start() : undefined),
  }
}

type Node = Pick<Server, 'port' | 'pid' | 'pause' | 'resume' | 'kill' | 'start'>

interface Blow {
  readonly paused: boolean
  readonly logs: ServerLogs
  /** Chosen when it begins: fail-overs change who is who. */
  choose(): Promise<Node | undefined>
  settled(): Promise<void>
}

/** What befalls one server of a set, which must then come to terms with it. */
export function nodeStrike({ paused, logs, choose, settled }: Blow): Pick<Strike, 'begin' | 'end'> {
  let hit: Node | undefined
  return {
    begin: async () => {
      hit = await choose()
      if (!paused && hit) logs.keep([hit])
      await (paused ? hit?.pause() : hit?.kill())
    },
    end: async () => {
      if (paused) hit?.resume()
      else await hit?.start()
      await patiently(settled)
    },
  }
}

/** Servers that are slow to answer or to agree get more time: that is no fault of a lock. */
export async function patiently<T>(what: () => Promise<T>, tries = 6): Promise<T> {
  for (let left = tries; ; left -= 1) {
    try {
      return await what()
    } catch (error) {
      if (left === 1) throw error
      await sleep(1000)
    }
  }
}

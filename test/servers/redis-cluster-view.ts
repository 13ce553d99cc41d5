import { redisCommand } from './redis-command.ts'

/** A node of a cluster, as one of them sees it. */
export interface ClusterNode {
  readonly id: string
  readonly host: string
  readonly port: number
  /** Such as `myself`, `master`, `slave`, `fail?`, `fail`, `handshake`. */
  readonly flags: readonly string[]
  /** The id of the master of a replica. */
  readonly master: string | undefined
  readonly connected: boolean
  /** From the first to the last, both included. Those on their way belong to where they come from. */
  readonly slots: readonly (readonly [first: number, last: number])[]
}

/** How the node at the URL sees the cluster. */
export async function clusterView(url: string): Promise<ClusterNode[]> {
  const lines = String(await redisCommand(url, 'cluster', 'nodes'))
    .trim()
    .split('\n')
  return lines.map((line) => {
    const [id = '', address = '', flags = '', master, , , , link, ...slots] = line.split(' ')
    const [, host = '', port] = /^(.*):(\d+)@/.exec(address) ?? []
    return {
      id,
      host,
      port: Number(port),
      flags: flags.split(','),
      master: master === '-' ? undefined : master,
      connected: link === 'connected',
      slots: slots.filter((range) => !range.startsWith('[')).map(rangeOf),
    }
  })
}

export function hasSlot({ slots }: ClusterNode, slot: number): boolean {
  return slots.some(([first, last]) => first <= slot && slot <= last)
}

function rangeOf(text: string): [number, number] {
  const [first, last = first] = text.split('-').map(Number)
  return [first ?? 0, last ?? 0]
}

import type { Random } from '../../simulation/random.ts'
import type { Crew, Worker } from '../crew.ts'
import type { Network } from '../network.ts'
import type { Strike } from './strike.ts'
import { LONGEST_LEASE_MS } from '../worker/tasks.ts'

interface Stage {
  readonly crew: Crew
  readonly network: Network
  readonly networked: boolean
}

/** What befalls one worker: its process, or its way to the servers. */
export function workerStrike(random: Random, worker: Worker, { crew, network, networked }: Stage): Strike {
  if (networked && random.chance(0.5)) return networkStrike(random, network, worker)
  const target = worker.name
  // Some shorter than a lease and some longer.
  const ms = random.between(200, 2 * LONGEST_LEASE_MS)
  const kind = random.pick(['killed', 'paused', 'blocked'] as const)
  const common = { fault: `worker ${kind}`, target, loses: false }
  if (kind === 'killed') return { ...common, ms: 0, begin: () => crew.replace(worker), end: () => {} }
  if (kind === 'blocked')
    return { ...common, ms, begin: () => crew.tell(worker, { do: 'block', ms }), end: () => {} }
  return {
    ...common,
    ms,
    begin: () => worker.process.kill('SIGSTOP'),
    end: () => worker.process.kill('SIGCONT'),
  }
}

/** What befalls the connections of one worker, or of all. */
export function networkStrike(random: Random, network: Network, worker?: Worker): Strike {
  const links = network.links(worker?.place)
  const each = (act: (link: (typeof links)[number]) => unknown) => (): Promise<unknown> =>
    Promise.all(links.map(act))
  const cut = each((link) => link.cut())
  const common = { target: worker?.name ?? 'all', loses: false, ms: random.between(300, 6000) }
  switch (random.pick(['partition', 'cut', 'strand', 'deaf', 'delay', 'refuse'] as const)) {
    case 'partition':
      return {
        ...{ ...common, fault: 'partition' },
        begin: each((link) => link.freeze()),
        end: each((link) => link.thaw()),
      }
    case 'cut':
      return { ...common, ms: 0, fault: 'connections cut', begin: cut, end: () => {} }
    case 'strand':
      // As routers do in the end, the dead connections are reset.
      return {
        ...{ ...common, fault: 'half-open connections' },
        begin: each((link) => link.strand()),
        end: cut,
      }
    case 'deaf':
      return {
        ...{ ...common, fault: 'replies lost' },
        begin: each((link) => link.dropReplies()),
        end: async () => {
          await each((link) => link.thaw())()
          await cut()
        },
      }
    case 'delay': {
      const delayMs = random.between(20, 800)
      return {
        ...{ ...common, fault: 'delays' },
        begin: each((link) => link.delay(delayMs)),
        end: each((link) => link.delay(0)),
      }
    }
    case 'refuse':
      return {
        ...{ ...common, fault: 'connections refused' },
        begin: each((link) => {
          link.refuse()
          link.cut()
        }),
        end: each((link) => link.accept()),
      }
  }
}

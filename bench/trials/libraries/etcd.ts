import { Etcd3, type Lock } from 'etcd3'
import { type Access, between, type Held, type Library, type Taken } from '../library.ts'

/** Of all that this process opened: whoever evicts need not be who holds. */
const locks = new Map<string, Lock>()
const leases = new Map<string, string>()

/** Its lease is renewed always, and it does not wait. */
export async function etcdLock({ url }: Access): Promise<Library> {
  const client = new Etcd3({ hosts: url })
  const lockOf = (key: string, leaseMs: number): Lock => {
    const lock = client.lock(key).ttl(leaseMs / 1000)
    locks.set(key, lock)
    return lock
  }
  return {
    section: (key, { leaseMs }, body) => lockOf(key, leaseMs).do(() => body({})),
    take: async (key, { leaseMs }) => {
      const lock = lockOf(key, leaseMs)
      await lock.acquire()
      return { release: () => lock.release() }
    },
    evict: async (key) => {
      const ID = await locks.get(key)?.leaseId()
      if (ID) await client.leaseClient.leaseRevoke({ ID })
    },
    close: async () => client.close(),
  }
}

/** A campaign is its way to wait, and to hear of a loss. */
export async function etcdElection({ url }: Access): Promise<Library> {
  const client = new Etcd3({ hosts: url })
  const take = async (key: string, { leaseMs }: { leaseMs: number }): Promise<Taken> => {
    const campaign = client.election(key, leaseMs / 1000).campaign('me')
    const listeners: (() => void)[] = []
    await campaign.wait()
    campaign.on('error', () => listeners.forEach((told) => told()))
    // The last part of its key is the number of its lease.
    const hex = (await campaign.getCampaignKey()).split('/').at(-1) ?? ''
    leases.set(key, BigInt(`0x${hex}`).toString())
    const held: Held = { onLoss: (told) => listeners.push(told) }
    return { ...held, release: () => campaign.resign() }
  }
  return {
    section: async (key, terms, body) => between(await take(key, terms), body),
    take,
    evict: async (key) => {
      const ID = leases.get(key)
      if (ID) await client.leaseClient.leaseRevoke({ ID })
    },
    close: async () => client.close(),
  }
}

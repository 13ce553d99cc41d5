// A process of its own that stands for election on several stores, driven by messages. It keeps a diary for each.
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Election, Term } from '../../src/election.ts'
import { createLocks, type Locks } from '../../src/locks.ts'
import { answerCalls } from './answer-calls.ts'
import redisClient, { type RedisStoreAddress } from './redis-client.ts'

export type ElectionAction = keyof typeof actions

/** Where each of the stores is. */
export type Places = Readonly<Record<string, string | RedisStoreAddress>>

interface Candidate {
  readonly name: string
  readonly lease: `${number}s`
  readonly pause: `${number}ms` | `${number}s`
  readonly poll?: `${number}s`
  /** Of the diaries. */
  readonly folder: string
}

const all: { readonly locks: Locks; readonly election: Election }[] = []

const actions = {
  /** Leads until it is told to stop. */
  async stand(places: Places, { name, lease, pause, poll, folder }: Candidate): Promise<void> {
    for (const [store, where] of Object.entries(places)) {
      const target = typeof where === 'string' ? where : await redisClient(where)
      const locks = createLocks(target, {
        logger: null,
        service: name,
        lease,
        poll: poll && { min: poll, max: poll },
      })
      const note = (what: string): void => appendFileSync(join(folder, store), `${what}\n`)
      const lead = async ({ number, token, signal }: Term): Promise<void> => {
        note(`begin ${name} ${number} ${token}`)
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
        note(`told ${name}`)
      }
      all.push({ locks, election: locks.elect('boss', lead, { pause }) })
    }
  },

  /** Whether another stands, too, on all of them. */
  async isWanted(): Promise<boolean> {
    const records = await Promise.all(all.map(({ locks }) => locks.inspect('boss')))
    return records.every((record) => record?.wanted)
  },

  async leaders(): Promise<(string | undefined)[]> {
    const leaders = await Promise.all(all.map(({ election }) => election.leader()))
    return leaders.map((leader) => leader?.service)
  },

  async resign(): Promise<void> {
    await Promise.all(all.map(({ election }) => election.resign()))
  },
}

answerCalls(actions)

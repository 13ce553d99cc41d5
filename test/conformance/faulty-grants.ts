import type { Answer, Ask, Renewal, RenewalAnswer } from '../../src/store.ts'
import { type Entry, ModelStore } from './model-store.ts'
import type { PlantedFault } from './planted-fault.ts'

/** Of the numbers of grants. */
export const GRANT_FAULTS: readonly PlantedFault[] = [
  {
    fault: 'a rotation does not raise the grant',
    caughtBy: ['renew > raises the grant when told to rotate', 'grants > G3 grants rise past rotations'],
    store: class extends ModelStore {
      override renewOne({ key, owner, leaseMs }: Renewal, now: number): RenewalAnswer {
        return super.renewOne({ key, owner, leaseMs }, now)
      }
    },
  },
  {
    fault: 'a number that the grant is to be raised to is ignored',
    caughtBy: ['renew > raises the grant to exactly the number it is given, and never lowers it'],
    store: class extends ModelStore {
      override raise(): void {}
    },
  },
  {
    fault: 'a grant is set to a lower number',
    caughtBy: ['renew > raises the grant to exactly the number it is given, and never lowers it'],
    store: class extends ModelStore {
      override raise(entry: Entry, grant: number): void {
        entry.grant = grant
      }
    },
  },
  {
    fault: 'a number that was raised is forgotten with the lock',
    caughtBy: ['grants > G3 grants rise past a number that was raised far ahead of the clock'],
    store: class extends ModelStore {
      readonly #minted = new Map<string, number>()

      override raise(entry: Entry, grant: number): void {
        this.#minted.set(entry.key, entry.grant)
        super.raise(entry, grant)
      }

      override free(entry: Entry): void {
        super.free({ ...entry, grant: this.#minted.get(entry.key) ?? entry.grant })
      }
    },
  },
  {
    fault: 'grants count from one again after a release: a counter in the record',
    caughtBy: [
      'grants > G3 grants rise over 100 releases and grants',
      'grants > G3 grants rise past an eviction',
      "grants > G3 a grant is no smaller than the store's clock in microseconds",
      'exclusion > G3 tokens rise over hand-off, release, expiry and forced release',
    ],
    store: class extends ModelStore {
      override mint(last: number): number {
        return last + 1
      }

      override free(entry: Entry): void {
        super.free(entry)
        this.server.fence = 0
      }
    },
  },
  {
    fault: 'grants are a millisecond clock',
    caughtBy: ['grants > G3 grants rise over 100 releases and grants'],
    store: class extends ModelStore {
      override mint(_last: number, now: number): number {
        return Math.floor(now) * 1000
      }
    },
  },
  {
    fault: 'a lost server would start at one: a sequence without the clock',
    caughtBy: ["grants > G3 a grant is no smaller than the store's clock in microseconds"],
    store: class extends ModelStore {
      override mint(last: number): number {
        return last + 1
      }
    },
  },
  {
    fault: 'a grant is a string',
    caughtBy: ['acquire > grants a free key, with no holder before it'],
    store: class extends ModelStore {
      override grant(ask: Ask, now: number, before: Entry | undefined): Answer {
        const answer = super.grant(ask, now, before)
        return { ...answer, grant: answer.granted ? String(answer.grant) : '' } as unknown as Answer
      }
    },
  },
]

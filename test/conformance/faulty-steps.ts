import type {
  Answer,
  Ask,
  Claim,
  Fault,
  LockRecord,
  ReleaseAnswer,
  Renewal,
  RenewalAnswer,
} from '../../src/store.ts'
import { type Entry, ModelStore } from './model-store.ts'
import type { PlantedFault } from './planted-fault.ts'

const byKey = (a: { key: string }, b: { key: string }): number => (a.key < b.key ? -1 : 1)

export const STEP_FAULTS: readonly PlantedFault[] = [
  {
    fault: 'acquire answers in sorted order, not in the order asked',
    caughtBy: ['acquire > answers in the order of the asks, granted and denied mixed'],
    store: class extends ModelStore {
      override acquire(asks: readonly Ask[]): Promise<readonly (Answer | Fault)[]> {
        return super.acquire(asks.toSorted(byKey))
      }
    },
  },
  {
    fault: 'renew answers in sorted order',
    caughtBy: ['renew > answers in the order of the renewals'],
    store: class extends ModelStore {
      override renew(renewals: readonly Renewal[]): Promise<readonly (RenewalAnswer | Fault)[]> {
        return super.renew(renewals.toSorted(byKey))
      }
    },
  },
  {
    fault: 'release answers in sorted order',
    caughtBy: ['release > answers in the order of the claims'],
    store: class extends ModelStore {
      override release(claims: readonly Claim[]): Promise<readonly (ReleaseAnswer | Fault)[]> {
        return super.release(claims.toSorted(byKey))
      }
    },
  },
  {
    fault: 'the batch is cut off at 5,000 items',
    caughtBy: ['large batches > answers 10000 asks, renewals and releases of one call each in its place'],
    store: class extends ModelStore {
      override acquire(asks: readonly Ask[]): Promise<readonly (Answer | Fault)[]> {
        return super.acquire(asks.slice(0, 5000))
      }
    },
  },
  {
    fault: 'a key is read, and written a moment later',
    caughtBy: [
      'acquire > grants a key to one of many that ask at once',
      'grants > G3 grants rise when clients race for the key',
      'exclusion > G1 tasks of several clients never overlap, and lose no update',
    ],
    store: class extends ModelStore {
      override async acquire(asks: readonly Ask[]): Promise<readonly (Answer | Fault)[]> {
        const seen = asks.map(({ key }) => this.find(key))
        await new Promise((resolve) => setImmediate(resolve))
        const now = this.now()
        return asks.map((ask, index) =>
          seen[index] ? this.acquireOne(ask, now) : this.grant(ask, now, undefined),
        )
      }
    },
  },
  {
    fault: 'the same owner again is denied',
    caughtBy: [
      'acquire > gives the same owner the same grant again, with a fresh lease',
      'repeats > G5 a batch sent twice gives the same grants',
    ],
    store: class extends ModelStore {
      override grantAgain(entry: Entry, _ask: Ask, now: number): Answer {
        return this.deny(entry, now)
      }
    },
  },
  {
    fault: 'the same owner again gets a new grant',
    caughtBy: ['acquire > gives the same owner the same grant again, with a fresh lease'],
    store: class extends ModelStore {
      override grantAgain(entry: Entry, ask: Ask, now: number): Answer {
        return this.grant(ask, now, entry)
      }
    },
  },
  {
    fault: 'the same owner again keeps the old lease',
    caughtBy: ['acquire > gives the same owner the same grant again, with a fresh lease'],
    store: class extends ModelStore {
      override grantAgain(entry: Entry): Answer {
        return { granted: true, grant: entry.grant, previous: null }
      }
    },
  },
  {
    fault: 'a late ask of the same owner shortens the lease',
    caughtBy: ['acquire > does not shorten the lease when the same owner asks again'],
    store: class extends ModelStore {
      override grantAgain(entry: Entry, ask: Ask, now: number): Answer {
        entry.expiresAt = now + ask.leaseMs
        return { granted: true, grant: entry.grant, previous: null }
      }
    },
  },
  {
    fault: 'a denial names the one who asks',
    caughtBy: ['acquire > denies a held key, and tells its holder and the time left'],
    store: class extends ModelStore {
      override acquireOne(ask: Ask, now: number): Answer {
        const answer = super.acquireOne(ask, now)
        return answer.granted ? answer : { ...answer, holder: ask.holder }
      }
    },
  },
  {
    fault: 'a denial tells the length of the lease instead of what is left',
    caughtBy: ['renew > never brings the expiry closer'],
    store: class extends ModelStore {
      override renewOne(renewal: Renewal, now: number): RenewalAnswer {
        const entry = this.find(renewal.key)
        if (entry) entry.leaseMs = renewal.leaseMs
        return super.renewOne(renewal, now)
      }

      override deny(entry: Entry, now: number): Answer {
        return { ...super.deny(entry, now), retryInMs: entry.leaseMs } as Answer
      }
    },
  },
  {
    fault: 'an expired lease can still be renewed',
    caughtBy: ['expiry > does not renew an expired lease, even if nobody took the key'],
    store: class extends ModelStore {
      override renewOne(renewal: Renewal, _now: number): RenewalAnswer {
        const late = this.find(renewal.key)
        return super.renewOne(renewal, Math.min(this.now(), (late?.expiresAt ?? 1) - 1))
      }
    },
  },
  {
    fault: 'an expired lease is never taken over',
    caughtBy: ['expiry > passes a key on once its lease has run out, and not before'],
    store: class extends ModelStore {
      override acquireOne(ask: Ask, now: number): Answer {
        const entry = this.find(ask.key)
        return entry && !this.owns(entry, ask) ? this.deny(entry, now) : super.acquireOne(ask, now)
      }
    },
  },
  {
    fault: 'a lease runs out at half its length',
    caughtBy: ['expiry > passes a key on once its lease has run out, and not before'],
    // Its half must be long, too: a test that is held up does not notice one that is over early.
    options: { minLeaseMs: 900, patienceMs: 3_000 },
    store: class extends ModelStore {
      override expired(entry: Entry, now: number): boolean {
        return entry.since + entry.leaseMs / 2 <= now
      }
    },
  },
  {
    fault: 'a take-over does not name the holder before',
    caughtBy: ['expiry > tells whom a key was taken over from'],
    store: class extends ModelStore {
      override grant(ask: Ask, now: number, before: Entry | undefined): Answer {
        return { ...super.grant(ask, now, before), previous: null } as Answer
      }
    },
  },
  {
    fault: 'release ignores the owner',
    caughtBy: [
      'release > refuses everyone but the owner, and the holder keeps the key',
      'expiry > leaves the successor alone when the late holder comes back',
    ],
    store: class extends ModelStore {
      override releaseOne(claim: Claim, now: number): ReleaseAnswer {
        return super.releaseOne({ ...claim, owner: this.find(claim.key)?.owner ?? '' }, now)
      }
    },
  },
  {
    fault: 'renew ignores the owner',
    caughtBy: [
      'renew > refuses everyone but the owner, and changes nothing',
      'expiry > leaves the successor alone when the late holder comes back',
    ],
    store: class extends ModelStore {
      override renewOne(renewal: Renewal, now: number): RenewalAnswer {
        return super.renewOne({ ...renewal, owner: this.find(renewal.key)?.owner ?? '' }, now)
      }
    },
  },
  {
    fault: 'a release is acknowledged and forgotten',
    caughtBy: [
      'release > frees the key at once, for everyone',
      'lost replies > G5 an acquire leaves the key to others: reply lost',
      'waiting > G8 a release lets a waiter of another client in, long before the lease ends',
      'closing > G12 close leaves no key, no waiter, no watch and no call behind',
    ],
    store: class extends ModelStore {
      override free(): void {}
    },
  },
  {
    fault: 'a repeated release says true',
    caughtBy: [
      'release > says false the second time',
      'repeats > G5 releases sent twice, backwards, free each key once',
    ],
    store: class extends ModelStore {
      override releaseOne(claim: Claim, now: number): ReleaseAnswer {
        return { ...super.releaseOne(claim, now), released: true }
      }
    },
  },
  {
    fault: 'a renewal can shorten the lease',
    caughtBy: ['renew > never brings the expiry closer'],
    store: class extends ModelStore {
      override renewOne(renewal: Renewal, now: number): RenewalAnswer {
        const answer = super.renewOne(renewal, now)
        const entry = this.find(renewal.key)
        if (answer.renewed && entry) entry.expiresAt = now + renewal.leaseMs
        return answer
      }
    },
  },
  {
    fault: 'a renewal resets the time of the grant',
    caughtBy: ['renew > keeps the grant, the time of the grant and the holder'],
    store: class extends ModelStore {
      override renewOne(renewal: Renewal, now: number): RenewalAnswer {
        const entry = this.find(renewal.key)
        if (entry) entry.since += 1
        return super.renewOne(renewal, now)
      }
    },
  },
  {
    fault: 'evict ignores the grant',
    caughtBy: [
      'evict > with another grant does nothing',
      'repeats > G5 an eviction sent twice with its grant spares the next holder',
    ],
    store: class extends ModelStore {
      override evict(key: string): Promise<LockRecord | null> {
        return super.evict(key)
      }
    },
  },
  {
    fault: 'evict tells what is there afterwards',
    caughtBy: ['evict > frees a key whoever holds it, and tells what it removed'],
    store: class extends ModelStore {
      override async evict(key: string, grant?: number): Promise<LockRecord | null> {
        await super.evict(key, grant)
        return null
      }
    },
  },
  {
    fault: 'wanted is never set',
    caughtBy: ['wanted > is set by a denial, and told by list and release'],
    store: class extends ModelStore {
      override deny(entry: Entry, now: number): Answer {
        const answer = super.deny(entry, now)
        entry.wanted = false
        return answer
      }
    },
  },
  {
    fault: 'wanted is never cleared',
    caughtBy: ['wanted > is cleared by the grant after an expiry'],
    store: class extends ModelStore {
      override grant(ask: Ask, now: number, before: Entry | undefined): Answer {
        const answer = super.grant(ask, now, before)
        const entry = this.find(ask.key)
        if (entry && before?.wanted) entry.wanted = true
        return answer
      }
    },
  },
  {
    fault: 'wanted is not told of a lease that has run out',
    caughtBy: ['wanted > is told by the release of an expired lease, as long as there is a record of it'],
    store: class extends ModelStore {
      override releaseOne(claim: Claim, now: number): ReleaseAnswer {
        const { released, wanted } = super.releaseOne(claim, now)
        return { released, wanted: released && wanted }
      }
    },
  },
  {
    fault: 'wanted is told of the successor',
    caughtBy: ['wanted > tells a late holder nothing of its successor'],
    store: class extends ModelStore {
      override releaseOne(claim: Claim, now: number): ReleaseAnswer {
        const wanted = this.find(claim.key)?.wanted ?? false
        return { ...super.releaseOne(claim, now), wanted }
      }
    },
  },
  {
    fault: 'wanted is cleared by a renewal',
    caughtBy: ['wanted > stays through renewals and through the same owner asking again'],
    store: class extends ModelStore {
      override renewOne(renewal: Renewal, now: number): RenewalAnswer {
        const entry = this.find(renewal.key)
        if (entry) entry.wanted = false
        return super.renewOne(renewal, now)
      }
    },
  },
]

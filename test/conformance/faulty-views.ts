import type { Ask, ListQuery, LockPage, LockRecord, Watch } from '../../src/store.ts'
import { type Entry, type Listener, ModelStore } from './model-store.ts'
import type { PlantedFault } from './planted-fault.ts'

/** Mistakes in how keys are told apart, listed and announced, and in how clients come and go. */
export const VIEW_FAULTS: readonly PlantedFault[] = [
  {
    fault: 'a page starts with the last entry of the one before',
    caughtBy: ['list > visits each lock once in pages of 2'],
    store: class extends ModelStore {
      override listed(query: ListQuery, now: number): Entry[] {
        const { after, ...rest } = query
        return super
          .listed(rest, now)
          .filter(({ key }) => after === undefined || this.compare(key, after) >= 0)
      }
    },
  },
  {
    fault: 'a page skips the entry that was one too many',
    caughtBy: ['list > visits each lock once in pages of 3'],
    store: class extends ModelStore {
      override async list(query: ListQuery): Promise<LockPage> {
        const page = await super.list({ ...query, limit: query.limit + 1 })
        const { next } = page
        return { locks: page.locks.slice(0, query.limit), next }
      }
    },
  },
  {
    fault: 'pages are counted by offset',
    caughtBy: ['list > goes on after a page whose locks were released meanwhile'],
    store: class extends ModelStore {
      override async list({ after, ...query }: ListQuery): Promise<LockPage> {
        const start = Number(after ?? 0)
        const { locks, next } = await super.list({ ...query, limit: start + query.limit })
        return { locks: locks.slice(start), next: next === null ? null : String(start + query.limit) }
      }
    },
  },
  {
    fault: 'pages are ordered one way and continued another',
    caughtBy: ['list > visits each lock once in pages of 1'],
    store: class extends ModelStore {
      override listed(query: ListQuery, now: number): Entry[] {
        return super.listed(query, now).toSorted((a, b) => a.key.localeCompare(b.key))
      }
    },
  },
  {
    fault: 'the limit is cut before the expired are left out',
    caughtBy: ['list > pages past expired and released locks'],
    store: class extends ModelStore {
      override async list(query: ListQuery): Promise<LockPage> {
        const now = this.now()
        const entries = this.listed(query, 0)
        const locks = entries.slice(0, query.limit).filter((entry) => !this.expired(entry, now))
        const next = entries.length > query.limit ? (locks.at(-1)?.key ?? null) : null
        return { locks: locks.map((entry) => this.record(entry, now)), next }
      }
    },
  },
  {
    fault: 'list shows expired locks',
    caughtBy: ['expiry > lists no expired lock', 'list > pages past expired and released locks'],
    store: class extends ModelStore {
      override listed(query: ListQuery): Entry[] {
        return super.listed(query, 0)
      }
    },
  },
  {
    fault: 'a prefix is a pattern',
    caughtBy: ['list > takes a prefix as it is written, not as a pattern'],
    store: class extends ModelStore {
      override matches(key: string, query: ListQuery): boolean {
        const escaped = (query.prefix ?? '').replaceAll(/[\\^$.*+?()[\]{}|]/gu, '\\$&')
        const like = new RegExp(`^${escaped.replaceAll('%', '.*').replaceAll('_', '.')}`, 'su')
        return (query.key ?? key) === key && like.test(key)
      }
    },
  },
  {
    fault: 'an exact key also finds the keys that it starts',
    caughtBy: ['list > takes an exact key as it is written, and shows no key that it starts'],
    store: class extends ModelStore {
      override matches(key: string, query: ListQuery): boolean {
        return key.startsWith(query.key ?? query.prefix ?? '')
      }
    },
  },
  keyFault('keys are compared without regard to case', (key) => key.toLowerCase()),
  keyFault('keys are normalised', (key) => key.normalize('NFC')),
  keyFault('keys lose their trailing spaces', (key) => key.replace(/ +$/u, '')),
  keyFault('keys lose their accents', (key) => key.normalize('NFD').replaceAll(/\p{Mn}/gu, '')),
  keyFault('keys are cut at 255 characters', (key) => key.slice(0, 255)),
  keyFault('keys are cut after the hash tag', (key) => /\{(.+?)\}/u.exec(key)?.[1] ?? key),
  {
    fault: 'an empty context comes back as none',
    caughtBy: [
      'hostile input > tells no context from an empty one',
      'hostile input > brings back what a holder says of itself unchanged',
    ],
    store: class extends ModelStore {
      override record(entry: Entry, now: number): LockRecord {
        const { holder } = entry
        return { ...super.record(entry, now), holder: { ...holder, context: holder.context || null } }
      }
    },
  },
  {
    fault: 'push never comes',
    caughtBy: [
      'watch > wakes for a wanted key that another client releases',
      'watch > wakes for a wanted key that is evicted',
      'push > G8 push wakes a waiter that would not ask again by itself',
    ],
    store: class extends ModelStore {
      override announce(): void {}
    },
  },
  {
    fault: 'push comes only once, when a key is added',
    caughtBy: ['watch > wakes for a wanted key that another client releases'],
    store: class extends ModelStore {
      override announce(): void {}
      override watch(onFreed: (key: string) => void): Watch {
        return { ...super.watch(onFreed), add: (key) => queueMicrotask(() => onFreed(key)) }
      }
    },
  },
  {
    fault: 'push misses what was freed before the key was added',
    caughtBy: [
      'watch > wakes for a key that was freed between its denial and its being added',
      'push > G8 push wakes a waiter whose key comes free while it asks',
    ],
    store: class extends ModelStore {
      override added(): void {}
    },
  },
  {
    fault: 'push does not come for an eviction',
    caughtBy: [
      'watch > wakes for a wanted key that is evicted',
      'push > G8 push wakes a waiter when the holder is forced out',
    ],
    store: class extends ModelStore {
      override async evict(key: string, grant?: number): Promise<LockRecord | null> {
        const entry = this.find(key)
        const wanted = entry?.wanted ?? false
        if (entry) entry.wanted = false
        const removed = await super.evict(key, grant)
        return removed && { ...removed, wanted }
      }
    },
  },
  {
    fault: 'push reaches one watch only',
    caughtBy: ['watch > wakes every client that watches'],
    store: class extends ModelStore {
      override announce(key: string): void {
        const one = [...this.server.listeners].find((listener: Listener) => listener.keys.has(key))
        one?.onFreed(key)
      }
    },
  },
  {
    fault: 'push comes after close',
    caughtBy: ['watch > is silent after close, while other watches go on'],
    store: class extends ModelStore {
      override watch(onFreed: (key: string) => void): Watch {
        return { ...super.watch(onFreed), close: async () => undefined }
      }
    },
  },
  {
    fault: 'a deleted key is still announced',
    caughtBy: ['watch > stops waking for a key that was deleted, and only for that'],
    store: class extends ModelStore {
      override watch(onFreed: (key: string) => void): Watch {
        return { ...super.watch(onFreed), delete: () => undefined }
      }
    },
  },
  {
    fault: 'deleting one key ends the whole watch',
    caughtBy: ['watch > stops waking for a key that was deleted, and only for that'],
    store: class extends ModelStore {
      override watch(onFreed: (key: string) => void): Watch {
        const watch = super.watch(onFreed)
        return { ...watch, delete: () => void watch.close() }
      }
    },
  },
  {
    fault: 'closing one client breaks the others',
    caughtBy: ['clients > leaves other clients alone when one closes'],
    store: class extends ModelStore {
      override async open(): Promise<void> {
        this.server.down = false
      }
      override async close(): Promise<void> {
        this.server.down = true
      }
      override now(): number {
        if (this.server.down) throw new Error('the connection is closed')
        return super.now()
      }
    },
  },
  {
    fault: 'closing a client ends the watches of others',
    caughtBy: ['watch > goes on when another client closes'],
    store: class extends ModelStore {
      override async close(): Promise<void> {
        this.server.listeners.clear()
      }
    },
  },
  {
    fault: 'open starts with an empty table',
    caughtBy: ['clients > keeps what is held when another client opens'],
    store: class extends ModelStore {
      override async open(): Promise<void> {
        this.server.entries.clear()
      }
    },
  },
  {
    fault: 'a lock belongs to the connection',
    caughtBy: [
      'clients > lets the owner go on through a new client after a close',
      'acquire > takes a claim from any client: the owner proves it, not the connection',
    ],
    store: class extends ModelStore {
      readonly #mine = new Set<string>()
      override grant(ask: Ask, now: number, before: Entry | undefined) {
        this.#mine.add(ask.owner)
        return super.grant(ask, now, before)
      }
      override owns(entry: Entry, claim: { owner: string }): boolean {
        return entry.owner === claim.owner && this.#mine.has(claim.owner)
      }
    },
  },
]

function keyFault(fault: string, identity: (key: string) => string): PlantedFault {
  return {
    fault,
    caughtBy: ['hostile input > keeps keys apart byte by byte, whatever is in them'],
    store: class extends ModelStore {
      override identity(key: string): string {
        return identity(key)
      }
    },
  }
}

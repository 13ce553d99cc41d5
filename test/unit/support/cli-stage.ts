import { Writable } from 'node:stream'
import { afterEach } from 'vitest'
import type { Command, Terminal } from '../../../src/cli/command.ts'
import { main } from '../../../src/cli/main.ts'
import { createLocks, type Locks } from '../../../src/locks.ts'
import type { Store } from '../../../src/store.ts'
import { memoryStore } from '../../../src/stores/memory.ts'

export interface Printed {
  readonly code: number
  readonly out: string
  readonly err: string
}

/** Both ends of a program that was never started. */
export class Paper {
  out = ''
  err = ''
  readonly terminal: Terminal

  constructor(own: Partial<Terminal> = {}) {
    const to = (name: 'out' | 'err'): Writable =>
      new Writable({
        write: (chunk, _, done) => {
          this[name] += String(chunk)
          done()
        },
      })
    this.terminal = { out: to('out'), err: to('err'), isTTY: false, colour: false, columns: Infinity, ...own }
  }
}

const open: Locks[] = []
afterEach(async () => {
  for (const locks of open.splice(0)) await locks.close()
})

export interface Stage {
  /** A client of the store that the commands use. */
  readonly locks: Locks
  readonly openLocks: () => Promise<Locks>
  run(command: Command, args: readonly string[], own?: Partial<Terminal>): Promise<Printed>
}

export function stage(store: Store = memoryStore()): Stage {
  const locks = createLocks(store, { service: 'shop', instance: 'till-1', logger: null })
  open.push(locks)
  const openLocks = async (): Promise<Locks> => {
    const locks = createLocks(store, { service: 'holdfast', logger: null })
    open.push(locks)
    return locks
  }
  return {
    locks,
    openLocks,
    async run(command, args, own) {
      const paper = new Paper(own)
      const code = await command.run({ args, openLocks, terminal: paper.terminal })
      return { code, out: paper.out, err: paper.err }
    },
  }
}

/** As from a shell. */
export async function holdfast(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  own: Partial<Terminal> = {},
): Promise<Printed> {
  const paper = new Paper(own)
  const code = await main({ args, env, terminal: paper.terminal })
  return { code, out: paper.out, err: paper.err }
}

import type { CallItem } from '../network.ts'
import type { Invariant, Scene } from '../scene.ts'

/**
 * Nobody names an owner that is not its own, so nobody can renew or release what another holds; and
 * an owner stands for one hold: once it was given back, or is being taken back, it never asks again.
 */
export function ownerOnly({ ledger, fail }: Scene): Invariant {
  const givenBack = new Set<string>()

  return {
    hear(fact) {
      if (fact.is === 'sent')
        for (const item of fact.call.items) check(fact.call.step, fact.call.process, item)
    },
  }

  function check(step: string, process: number, { key, owner }: CallItem): void {
    if (step === 'evict') return
    const book = ledger.owners.get(owner)
    if (!book || book.key !== key || book.process.index !== process) {
      fail('G4', `process ${process} sent a ${step} of ${key} as ${owner}, which it never asked for`)
    }
    if (step === 'release') givenBack.add(owner)
    if (step === 'acquire' && givenBack.has(owner)) {
      fail('G4', `process ${process} asks for ${key} as ${owner} after releasing that owner`)
    }
  }
}

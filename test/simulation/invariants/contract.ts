import type { Invariant, Scene } from '../scene.ts'

/** What core promises every store: keys are unique within a batch, and no batch is empty. */
export function contract({ fail }: Scene): Invariant {
  return {
    hear(fact) {
      if (fact.is !== 'sent' || !['acquire', 'renew', 'release'].includes(fact.call.step)) return
      const { step, items, process } = fact.call
      const keys = new Set(items.map((item) => item.key))
      if (items.length === 0) fail('contract', `process ${process} sends an empty ${step}`)
      if (keys.size < items.length) fail('contract', `process ${process} sends a ${step} with one key twice`)
    },
  }
}

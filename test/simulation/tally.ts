import type { Fact } from './facts.ts'
import type { Ledger } from './ledger.ts'

/** Counts what happened, so that a test can tell a proof from a run in which nothing happened. */
export class Tally {
  readonly counts: Map<string, number> = new Map()

  add(what: string, times = 1): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + times)
  }

  merge(other: Tally): void {
    for (const [what, times] of other.counts) this.add(what, times)
  }

  toString(): string {
    const lines = [...this.counts].sort(([a], [b]) => (a < b ? -1 : 1))
    return lines.map(([what, times]) => `${String(times).padStart(9)}  ${what}`).join('\n')
  }

  hear(fact: Fact, ledger: Ledger): void {
    switch (fact.is) {
      case 'granted':
        this.add(fact.tookOver === null ? 'grant' : 'take-over')
        break
      case 'granted-again':
        this.add('doubled ask granted again')
        break
      case 'denied':
        this.add('denial')
        break
      case 'renewed':
        this.add(fact.rotated ? 'rotation' : 'renewal')
        break
      case 'renewal-refused':
        this.add('renewal refused')
        break
      case 'arrived':
        if (fact.copy > 0) this.add('doubled message')
        break
      case 'sent':
        if (fact.call.step === 'release') this.#hearRelease(fact.call.items, ledger)
        break
      case 'answered':
        this.#hearAnswer(fact, ledger)
        break
      case 'entered':
        this.#hearEntry(fact)
        break
      case 'told':
        this.add('loss')
        break
      case 'settled':
        this.add(`ended: ${fact.attempt.outcome}`)
        break
      case 'fault':
        this.add(`fault: ${(JSON.parse(fact.what) as { do: string }).do}`)
        break
      case 'lost-there':
      case 'lost-back':
      case 'failed':
      case 'push-lost':
      case 'pushed':
        this.add(fact.is)
        break
    }
  }

  #hearRelease(items: readonly { owner: string }[], ledger: Ledger): void {
    for (const { owner } of items) {
      if (ledger.owners.get(owner)?.inHandsAt === undefined) this.add('compensation')
    }
  }

  #hearAnswer({ call, answers }: Fact & { is: 'answered' }, ledger: Ledger): void {
    if (call.step === 'evict') return
    call.items.forEach(({ key, owner }, i) => {
      const process = ledger.owners.get(owner)?.process
      if (process && process.time - call.sentAt > process.plan.callTimeout / process.plan.clockRate) {
        this.add('late answer')
      }
      const answer = answers[i] as {
        granted?: boolean
        released?: boolean
        wanted?: boolean
        error?: unknown
      }
      if (answer.error) this.add('faulty item')
      if (answer.released && answer.wanted) this.add('given back while wanted')
      if (!answer.granted) return
      const waits = [...ledger.waiting].some(
        (each) => each.key === key && each.process.index === call.process,
      )
      if (!waits) this.add('grant for nobody')
    })
  }

  #hearEntry({ attempt, token }: Fact & { is: 'entered' }): void {
    if (!attempt.reenters) {
      if (token % 1024n > 0n) this.add('hand-off')
      return
    }
    this.add('re-entry')
    if (attempt.enteredAt !== attempt.askedAt) this.add('sibling waited')
  }
}

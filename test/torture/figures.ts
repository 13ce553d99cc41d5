import type { Figures as Examined } from './checks/findings.ts'
import type { Entry } from './history.ts'

/** What a run was made of, and what the checker saw in it, to be added up over its rounds. */
export interface Figures extends Examined {
  rounds: number
  minutes: number
  /** How often a signal said that a lease was lost. */
  losses: number
  faults: Record<string, number>
}

export function figuresOf(entries: readonly Entry[], minutes: number, examined: Examined): Figures {
  const faults: Record<string, number> = {}
  const count = (fault: string): void => void (faults[fault] = (faults[fault] ?? 0) + 1)
  let losses = 0
  for (const entry of entries) {
    if (entry.is === 'lost') losses += 1
    else if (entry.is === 'fault' && entry.phase === 'begin') count(entry.fault)
    else if (entry.is === 'evict' && entry.phase === 'begin') count('forced release')
    else if (entry.is === 'block' && !entry.starved) count('event loop blocked')
  }
  return { ...examined, rounds: 1, minutes, losses, faults }
}

export function sumOf(all: readonly Figures[]): Figures {
  const [first, ...others] = all
  if (!first) throw new Error('there was no round')
  const sum = { ...first, faults: { ...first.faults } }
  for (const { faults, ...numbers } of others) {
    for (const [name, value] of Object.entries(numbers)) sum[name as keyof typeof numbers] += value
    for (const [fault, times] of Object.entries(faults)) sum.faults[fault] = (sum.faults[fault] ?? 0) + times
  }
  return sum
}

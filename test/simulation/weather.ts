import type { FaultPlan, Schedule } from './schedule.ts'

interface Spell {
  readonly from: number
  readonly until: number
  /** Null: everybody's. */
  readonly process: number | null
}

/** When things went wrong, so that promises of the kind "soon" are asked for only in calm weather. */
export class Weather {
  readonly #spells: Spell[]

  constructor(schedule: Schedule) {
    const { faults, network, calmAt, processes } = schedule
    this.#spells = faults.flatMap(spellOf)
    const { latencyMs: _, ...chances } = network
    if (Object.values(chances).some((chance) => chance > 0)) {
      this.#spells.push({ from: 0, until: calmAt, process: null })
    }
    processes.forEach(({ stallChance }, process) => {
      if (stallChance > 0) this.#spells.push({ from: 0, until: calmAt, process })
    })
  }

  /** Since when nothing has troubled this process or the server; Infinity while something does. */
  calmSince(process: number, now: number): number {
    let since = 0
    for (const spell of this.#spells) {
      if (spell.from > now || (spell.process !== null && spell.process !== process)) continue
      if (spell.until > now) return Infinity
      since = Math.max(since, spell.until)
    }
    return since
  }
}

function spellOf(fault: FaultPlan): Spell[] {
  const { at: from } = fault
  switch (fault.do) {
    case 'pause':
    case 'cut':
      return [{ from, until: from + fault.ms, process: fault.process }]
    case 'freeze':
    case 'slow':
    case 'down':
      return [{ from, until: from + fault.ms, process: null }]
    case 'restart':
      return [{ from, until: from, process: null }]
    default:
      return []
  }
}

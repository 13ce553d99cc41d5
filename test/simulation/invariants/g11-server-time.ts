import type { Invariant, Scene } from '../scene.ts'

/**
 * No time of a client reaches the server: the only numbers in a message are lengths of leases. That
 * clocks with other offsets change nothing follows from it, and every process here has another one.
 */
export function serverTime({ schedule, fail }: Scene): Invariant {
  const longestLease = 30_000

  return {
    hear(fact) {
      if (fact.is !== 'sent') return
      for (const item of fact.call.items) {
        for (const [name, value] of Object.entries(item)) check(`${fact.call.step}.${name}`, value)
      }
    },
  }

  function check(name: string, value: unknown): void {
    if (typeof value === 'object' && value !== null) {
      for (const [inner, part] of Object.entries(value)) check(`${name}.${inner}`, part)
    }
    if (typeof value === 'number' && !(value > 0 && value <= longestLease)) {
      fail('G11', `a message carries ${name} = ${value}, seed ${schedule.seed}`)
    }
    if (value instanceof Date) fail('G11', `a message carries the time of day ${value.toISOString()}`)
  }
}

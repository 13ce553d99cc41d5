import type { AnyScenario } from './figures.ts'

/** One who can only ask again and again for a key that is held. */
export interface Poller<Kind extends string> {
  readonly kind: Kind
  /** How long it sleeps when the key is held, before it asks again. */
  readonly pollMs: number
}

interface Polling<Kind extends string> {
  readonly name: string
  readonly scenario: AnyScenario
  readonly contender: Poller<Kind>
}

/** Where nobody asks for the key of another, and it does not matter how often. */
export function undisturbed<Kind extends string>(
  scenario: AnyScenario,
  names: Readonly<Record<Kind, string>>,
): Polling<Kind>[] {
  return kindsOf(names).map((kind) => ({ name: names[kind], scenario, contender: { kind, pollMs: 10 } }))
}

/** Often means soon, but also that there is more to do. */
export function polling<Kind extends string>(
  scenario: AnyScenario,
  names: Readonly<Record<Kind, string>>,
  pollsMs: readonly number[],
): Polling<Kind>[] {
  return pollsMs.flatMap((pollMs) =>
    kindsOf(names).map((kind) => ({
      name: `${names[kind]}, asks every ${pollMs} ms`,
      scenario,
      contender: { kind, pollMs },
    })),
  )
}

function kindsOf<Kind extends string>(names: Readonly<Record<Kind, string>>): Kind[] {
  return Object.keys(names) as Kind[]
}

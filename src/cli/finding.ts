export type State = 'ok' | 'warning' | 'failed'

export interface Finding {
  readonly name: string
  readonly state: State
  readonly text: string
  /** What to change, if anything. */
  readonly fix: string | null
}

export type Tell = (finding: Finding) => void

export function fine(name: string, text: string): Finding {
  return { name, state: 'ok', text, fix: null }
}

/** Something that must never happen, and where in the history a person finds it. */
export interface Violation {
  /** `G1`…`G12`, `guard`, `model` for a history that no sequence of operations explains, `round` for one without an end. */
  readonly guarantee: string
  readonly message: string
  readonly key: string | null
  /** What shows it: when, and by whom. */
  readonly from: number
  readonly to: number
  readonly workers: readonly string[]
}

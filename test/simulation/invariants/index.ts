import type { Invariant, Scene } from '../scene.ts'
import { contract } from './contract.ts'
import { exclusion } from './g1-exclusion.ts'
import { earlyWord } from './g2-early-word.ts'
import { risingTokens } from './g3-rising-tokens.ts'
import { ownerOnly } from './g4-owner-only.ts'
import { nothingStranded } from './g5-nothing-stranded.ts'
import { outcomes } from './g6-outcomes.ts'
import { calm } from './g7-calm.ts'
import { inOrder } from './g8-in-order.ts'
import { noStarvation } from './g9-no-starvation.ts'
import { reEntry } from './g10-re-entry.ts'
import { serverTime } from './g11-server-time.ts'
import { nothingLeft } from './g12-nothing-left.ts'
import { options } from './options.ts'

const INVARIANTS: readonly ((scene: Scene) => Invariant)[] = [
  // G2 looks first: reading `held` may notice a loss that a timer should have noticed.
  earlyWord,
  exclusion,
  risingTokens,
  ownerOnly,
  nothingStranded,
  outcomes,
  calm,
  inOrder,
  noStarvation,
  reEntry,
  serverTime,
  nothingLeft,
  options,
  contract,
]

export function allInvariants(scene: Scene): Invariant[] {
  return INVARIANTS.map((watch) => watch(scene))
}

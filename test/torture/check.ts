/**
 * Whether a history keeps the guarantees of `docs/guarantees.md`. Each of them is a file in `checks/`, which looks at
 * the round as a whole; `checks/round.ts` puts it together from the entries.
 *
 * What the history cannot prove wrong is right: a call took effect at some moment between its send and its reply, a
 * call without a reply at any time or never, and a store whose data a fault has lost knows nothing of before. Nothing
 * depends on how fast the machine is, but for what must happen by a time (in G2, G5, G7, G8 and G12), which is counted generously.
 */
import type { Entry } from './history.ts'
import { type Figures, Findings } from './checks/findings.ts'
import { exclusionAmongHolders } from './checks/g1-among-holders.ts'
import { exclusionAtTheStore } from './checks/g1-at-the-store.ts'
import { earlyWord } from './checks/g2-early-word.ts'
import { falseAlarm } from './checks/g2-false-alarm.ts'
import { refusedRenewal } from './checks/g2-refused-renewal.ts'
import { wordComes } from './checks/g2-word-comes.ts'
import { ownToken } from './checks/g3-own-token.ts'
import { risingTokens } from './checks/g3-rising-tokens.ts'
import { ownerOnly } from './checks/g4-owner-only.ts'
import { ownerRefused } from './checks/g4-owner-refused.ts'
import { freeKey } from './checks/g5-free-key.ts'
import { nothingLeft } from './checks/g5-nothing-left.ts'
import { renewedForNobody } from './checks/g5-renewed-for-nobody.ts'
import { falseLoss } from './checks/g6-false-loss.ts'
import { lossIsTold } from './checks/g6-loss-is-told.ts'
import { codes } from './checks/codes.ts'
import { backToWork } from './checks/g7-back-to-work.ts'
import { calm } from './checks/g7-calm.ts'
import { wholeWait } from './checks/g7-whole-wait.ts'
import { inOrder } from './checks/g8-in-order.ts'
import { woken } from './checks/g8-woken.ts'
import { slice } from './checks/g9-slice.ts'
import { reEntry } from './checks/g10-re-entry.ts'
import { closing } from './checks/g12-closing.ts'
import { guard } from './checks/guard.ts'
import { lockModels } from './checks/lock-models.ts'
import { Round } from './checks/round.ts'
import type { Violation } from './violation.ts'

type Check = (round: Round, findings: Findings) => void

const CHECKS: readonly Check[] = [
  exclusionAmongHolders,
  exclusionAtTheStore,
  earlyWord,
  wordComes,
  refusedRenewal,
  falseAlarm,
  risingTokens,
  ownToken,
  guard,
  ownerOnly,
  ownerRefused,
  nothingLeft,
  freeKey,
  renewedForNobody,
  lossIsTold,
  falseLoss,
  codes,
  calm,
  backToWork,
  wholeWait,
  inOrder,
  woken,
  slice,
  reEntry,
  closing,
  lockModels,
]

export interface Examined {
  readonly violations: Violation[]
  readonly figures: Readonly<Figures>
}

/** `entries` are those of one round, in the order of time. */
export function examine(entries: readonly Entry[]): Examined {
  const round = new Round(entries)
  const findings = new Findings()
  findings.figures.asks = round.attempts.length
  findings.figures.grants = round.attempts.filter(({ grantedAt }) => grantedAt !== null).length
  findings.figures.storeCalls = round.store.calls
  for (const check of CHECKS) check(round, findings)
  return { violations: findings.violations, figures: findings.figures }
}

export function check(entries: readonly Entry[]): Violation[] {
  return examine(entries).violations
}

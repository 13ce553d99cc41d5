import { frozenServer } from './r01-frozen-server.ts'
import { blockedLoop } from './r02-blocked-loop.ts'
import { renewalTimeout } from './r03-renewal-timeout.ts'
import { connectionEnded } from './r04-connection-ended.ts'
import { lateRelease } from './r05-late-release.ts'
import { splitVote } from './r06-split-vote.ts'
import { ownError } from './r07-own-error.ts'
import { commandsWhileHeld } from './r08-commands.ts'
import { leftoverTimer } from './r09-leftover-timer.ts'
import { takeOver } from './r10-take-over.ts'
import { crashedHolder } from './r11-crashed-holder.ts'
import { abortWhileAsking } from './r12-abort.ts'
import { oneOffKeys } from './r13-one-off-keys.ts'
import { severalKeysOnCluster } from './r14-cluster.ts'
import { takenAway } from './r15-taken-away.ts'
import { lostReply } from './r16-lost-reply.ts'
import { tokensAfterFlush } from './r17-tokens.ts'
import { waitersInOrder } from './r18-waiters.ts'
import { shares } from './r19-shares.ts'
import { leaks } from './r20-leaks.ts'
import { millionKeys } from './r21-million-keys.ts'
import { cost } from './r22-cost.ts'
import type { Trial } from './trial.ts'

export const TRIALS: readonly Trial[] = [
  frozenServer,
  blockedLoop,
  renewalTimeout,
  connectionEnded,
  lateRelease,
  splitVote,
  ownError,
  commandsWhileHeld,
  leftoverTimer,
  takeOver,
  crashedHolder,
  abortWhileAsking,
  oneOffKeys,
  severalKeysOnCluster,
  takenAway,
  lostReply,
  tokensAfterFlush,
  waitersInOrder,
  shares,
  leaks,
  millionKeys,
  cost,
]

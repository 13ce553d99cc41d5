export type { Alert, AlertKind } from './alerts/alert.ts'
export type { Duration } from './duration.ts'
export type { Election, ElectionLoop, ElectOptions, Leader, Term, TermBody, TermEnd } from './election.ts'
export { type Environment, systemEnvironment } from './environment.ts'
export { LOCK_ERROR_CODES, LockError, type LockErrorCode } from './errors.ts'
export type { ClientName, LockEvent, LockEvents, LockListener } from './events.ts'
export type { FailCause, FallbackStrategy, RetryStrategy } from './fail-strategy.ts'
export type { KeyDefaults } from './key-pattern.ts'
export type { Keys } from './key.ts'
export type { Lease, LeaseJson } from './lease.ts'
export type { Lockable, LockableOptions } from './lockable.ts'
export { type Body, createLocks, type Locks } from './locks.ts'
export type { BusyKey } from './monitor/busy-keys.ts'
export type { Conflict } from './monitor/conflicts.ts'
export type { HistogramSnapshot } from './monitor/histogram.ts'
export type { Logger } from './monitor/journal.ts'
export { mergeStats } from './monitor/merge-stats.ts'
export type { SizesSnapshot } from './monitor/sizes.ts'
export type { LockStats } from './monitor/stats.ts'
export type { StepName, StepStats } from './monitor/steps.ts'
export type { OnceOptions, OnceOutcome } from './once.ts'
export type {
  AcquireOptions,
  Isolation,
  ListOptions,
  LocksOptions,
  TransactionGuard,
  TransactionOptions,
  TryOptions,
  UsingOptions,
} from './options.ts'
export type { Health } from './records.ts'
export { currentLease } from './section.ts'
export type { Defaults } from './settings.ts'
export type {
  Answer,
  Ask,
  Claim,
  Denial,
  Fault,
  Grant,
  Holder,
  ListQuery,
  LockPage,
  LockRecord,
  Pool,
  ReleaseAnswer,
  Renewal,
  RenewalAnswer,
  Store,
  Watch,
} from './store.ts'
export { memoryStore } from './stores/memory.ts'
export type { TransactionDatabase, TransactionManager, TransactionOf } from './transaction.ts'

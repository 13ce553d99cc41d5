export type { AuditEntry } from './audit.ts'
export { listenLocks, type ListenOptions, type ListeningLockServer } from './listen.ts'
export { lockServer, type LockServer } from './lock-server.ts'
export type { LockServerOptions } from './options.ts'
export type {
  EventJson,
  LockDetailJson,
  LockJson,
  LockPageJson,
  ProblemJson,
  ReleasedJson,
  StatsJson,
  StreamJson,
  TurnJson,
} from './wire.ts'

import { fileURLToPath } from 'node:url'
import type { Call } from './postgres-child.ts'
import { TestProcess } from './test-process.ts'

const CHILD = fileURLToPath(new URL('./postgres-child.ts', import.meta.url))

/** Another process, to be told what to do with locks on PostgreSQL. */
export type PostgresProcess = TestProcess<Call['name']>

export const PostgresProcess = {
  start: (): Promise<PostgresProcess> => TestProcess.fork(CHILD),
} as const

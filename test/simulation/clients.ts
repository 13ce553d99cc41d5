import { createLocks, type Locks } from '../../src/locks.ts'
import { DEFAULT_LEASE_MS, DEFAULT_WAIT_MS } from './attempt.ts'
import type { Network } from './network.ts'
import type { SimulatedProcess } from './simulated-process.ts'

/** One client for each process, which lives in the process's time. */
export function clientsOf(processes: readonly SimulatedProcess[], network: Network, push: boolean): Locks[] {
  return processes.map((process) =>
    createLocks(network.connect(process, push), {
      service: 'simulation',
      instance: `process ${process.index}`,
      lease: DEFAULT_LEASE_MS,
      wait: DEFAULT_WAIT_MS,
      callTimeout: process.plan.callTimeout,
      poll: process.plan.poll,
      logger: null,
      environment: process,
    }),
  )
}

import { type Mutant, mutantsOf } from '../mutant.ts'
import { LEASE_BUGS } from './leases.ts'
import { ONCE_BUGS } from './once.ts'
import { QUEUE_BUGS } from './queues.ts'
import { STORE_CALL_BUGS } from './store-calls.ts'

export const CORE_MUTANTS: readonly Mutant[] = [
  ...mutantsOf('core', undefined, [...LEASE_BUGS, ...QUEUE_BUGS, ...STORE_CALL_BUGS]),
  ...mutantsOf('once', 'test/unit/once', ONCE_BUGS),
]

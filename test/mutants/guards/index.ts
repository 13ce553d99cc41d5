import { type Mutant, mutantsOf } from '../mutant.ts'
import {
  HEADER_FENCE_BUGS,
  MEMORY_FENCE_BUGS,
  MONGO_FENCE_BUGS,
  MYSQL_FENCE_BUGS,
  POSTGRES_FENCE_BUGS,
  REDIS_FENCE_BUGS,
  SQLITE_FENCE_BUGS,
} from './fences.ts'
import { TRANSACTION_BUGS } from './transactions.ts'

export const GUARD_MUTANTS: readonly Mutant[] = [
  ...mutantsOf('guard in memory', 'test/unit/fence-memory.test.ts', MEMORY_FENCE_BUGS),
  ...mutantsOf('guard of requests', 'test/unit/fence-header.test.ts', HEADER_FENCE_BUGS),
  ...mutantsOf('guard in SQLite', 'test/unit/fence-sqlite.test.ts', SQLITE_FENCE_BUGS),
  ...mutantsOf('guard in PostgreSQL', 'test/faults/fence-postgres.test.ts', POSTGRES_FENCE_BUGS),
  ...mutantsOf('guard in MySQL', 'test/faults/fence-mysql.test.ts', MYSQL_FENCE_BUGS),
  ...mutantsOf('guard in MongoDB', 'test/faults/fence-mongo.test.ts', MONGO_FENCE_BUGS),
  ...mutantsOf('guard in Redis', 'test/faults/fence-redis.test.ts', REDIS_FENCE_BUGS),
  ...mutantsOf('transactions', 'test/unit/transaction-sqlite.test.ts', TRANSACTION_BUGS),
]

import { type Mutant, mutantsOf } from '../mutant.ts'
import { MEMORY_BUGS } from './memory.ts'
import { MONGO_BUGS } from './mongo.ts'
import { MOVING_BUGS } from './moving.ts'
import { MYSQL_BUGS } from './mysql.ts'
import { POSTGRES_BUGS } from './postgres.ts'
import { REDIS_BUGS } from './redis.ts'
import { SQLITE_BUGS } from './sqlite.ts'

export const STORE_MUTANTS: readonly Mutant[] = [
  ...mutantsOf('memory', 'test/conformance/memory.test.ts', MEMORY_BUGS),
  ...mutantsOf('moving', 'test/unit/moving', MOVING_BUGS),
  ...mutantsOf('SQLite', 'test/conformance/sqlite.test.ts', SQLITE_BUGS),
  ...mutantsOf('PostgreSQL', 'test/conformance/postgres.test.ts', POSTGRES_BUGS),
  ...mutantsOf('Redis', 'test/conformance/redis.test.ts', REDIS_BUGS),
  ...mutantsOf('MongoDB', 'test/conformance/mongo.test.ts', MONGO_BUGS),
  ...mutantsOf('MySQL', 'test/conformance/mysql.test.ts', MYSQL_BUGS),
]

import { type Bug, mutant } from '../mutant.ts'

const SQL = 'src/fence/sql.ts'

export const MEMORY_FENCE_BUGS: readonly Bug[] = [
  mutant(
    'an equal token passes a strict check',
    'src/fence/verdict.ts',
    '(seen === token && !strict)',
    'seen === token',
  ),
  mutant(
    'a token passes whatever was seen before',
    'src/fence/memory.ts',
    'judge(claim, seen.get(claim.resource) ?? 0n)',
    'judge(claim, 0n)',
  ),
]

export const HEADER_FENCE_BUGS: readonly Bug[] = [
  mutant(
    'the guard is asked, but nobody waits for its answer',
    'src/fence/header.ts',
    'await guard.check(name, token)',
    'void Promise.resolve(guard.check(name, token)).catch(() => undefined)',
  ),
  mutant(
    'a request without a token is let through',
    'src/fence/header.ts',
    'required ? problem(428,',
    'required && HEADER === null ? problem(428,',
  ),
]

export const SQLITE_FENCE_BUGS: readonly Bug[] = [
  mutant(
    'tokens lose their last digits',
    SQL,
    'values (?, cast(? as integer), 0, ${now})',
    'values (?, cast(cast(? as real) as integer), 0, ${now})',
  ),
  mutant(
    'a check outside of a transaction is taken for one',
    'src/fence/sqlite.ts',
    'if (!inTransaction(tx)) throw',
    'if (!inTransaction(tx) && tx === null) throw',
  ),
]

export const POSTGRES_FENCE_BUGS: readonly Bug[] = [
  mutant(
    'the highest token is read without the lock of its row',
    SQL,
    'returning f.previous::text as previous`',
    'returning coalesce((select b.token from ${name} as b where b.resource = $1::text), 0)::text as previous`',
    'makes the second writer wait|never lets a resource go back',
  ),
  mutant(
    'a lower token that is refused takes the place of the higher one',
    SQL,
    'set token = greatest(f.token, excluded.token), previous = f.token, seen_at = clock_timestamp()',
    'set token = excluded.token, previous = f.token, seen_at = clock_timestamp()',
    'changes nothing if a refused writer commits',
  ),
  {
    ...mutant(
      'what postgres.js has not sent in time is done when a connection is there',
      'src/fence/lender.ts',
      'answered(Promise.resolve(run(text, lent)))',
      'answered(Promise.resolve(run(text, [...lent])))',
      'is for postgres.js also the end',
    ),
    tests: 'test/faults/fence-limits.test.ts',
  },
  {
    ...mutant(
      'what a client of pg has not sent in time is done when its turn comes',
      'src/fence/lender.ts',
      'answered(db.query({ text, values: lent }))',
      'answered(db.query({ text, values: [...lent] }))',
      'is for a client of pg also the end',
    ),
    tests: 'test/faults/fence-limits.test.ts',
  },
]

export const MYSQL_FENCE_BUGS: readonly Bug[] = [
  mutant(
    'what was before is noted after the change',
    SQL,
    'previous = token, token = greatest(token, values(token)),',
    'token = greatest(token, values(token)), previous = token,',
    'lets a strict check pass once',
  ),
  mutant(
    'the first check looks for its table before it waits, and with that the transaction has its view of the data',
    SQL,
    'looksBefore: false,',
    'looksBefore: true,',
    'no write is lost',
  ),
]

export const MONGO_FENCE_BUGS: readonly Bug[] = [
  mutant(
    'a check that changes nothing conflicts with nobody',
    'src/fence/mongo.ts',
    '$max: { token: claim.token }, $inc: { checks: 1 }, $currentDate: { seenAt: true }',
    '$max: { token: claim.token }',
  ),
  {
    ...mutant(
      'a document is updated whatever token it has seen',
      'src/fence/document.ts',
      '{ $and: [filter, { $or: [{ [this.#field]: null }, passed] }] }',
      '{ $and: [filter, { $or: [{ _id: { $exists: true } }, passed] }] }',
    ),
    tests: 'test/faults/fence-mongo-documents.test.ts',
  },
]

export const REDIS_FENCE_BUGS: readonly Bug[] = [
  mutant(
    'tokens are compared as texts of different lengths',
    'src/fence/redis.ts',
    `.padStart(DIGITS, '0')`,
    `.padStart(DIGITS - DIGITS, '0')`,
  ),
  {
    bug: 'the script of a stale token runs before it is refused',
    changes: [
      {
        file: 'src/fence/redis.ts',
        find: `if seen and (seen > ARGV[1] or (seen == ARGV[1] and ARGV[2] == 'strict')) then return { 'stale', seen } end`,
        replace: `local stale = seen and (seen > ARGV[1] or (seen == ARGV[1] and ARGV[2] == 'strict'))`,
      },
      {
        file: 'src/fence/redis.ts',
        find: `return { 'done', guarded({ unpack(KEYS, 2) }, { unpack(ARGV, 3, #ARGV - 1) }) }`,
        replace: `local value = guarded({ unpack(KEYS, 2) }, { unpack(ARGV, 3, #ARGV - 1) })
if stale then return { 'stale', seen } end
return { 'done', value }`,
      },
    ],
  },
]

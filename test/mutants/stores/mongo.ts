import { type Bug, mutant } from '../mutant.ts'

const STEPS = 'src/stores/mongo/steps.ts'

export const MONGO_BUGS: readonly Bug[] = [
  mutant(
    'a renewal by somebody else prolongs the lease all the same',
    STEPS,
    '{ _id: key, owner, $expr: IN_FORCE }',
    '{ _id: key, $expr: IN_FORCE }',
    'store renew',
  ),
  mutant(
    'numbers only count, without the clock',
    'src/stores/mongo/expressions.ts',
    "{ $max: [{ $add: ['$grant', 1] }, MICROS] }",
    `{ $add: [{ $ifNull: ['$grant', { $min: [0, MICROS] }] }, 1] }`,
    'store grants',
  ),
  mutant(
    'a text of a holder that begins with a dollar is an expression',
    STEPS,
    'this.#granting({ $literal: asked(ask, waits) })',
    'this.#granting(asked(ask, waits))',
    'store (hostile input|acquire)',
  ),
  mutant(
    'a prefix is not escaped',
    STEPS,
    `$regex: \`^\${escaped(prefix)}\``,
    `$regex: \`^\${prefix.replace(/[\\\\()[]/g, '\\\\$&')}\``,
    'store list',
  ),
  mutant(
    'a denial does not note that the key is wanted',
    STEPS,
    `const denied = {
      wanted: true,`,
    `const denied = {
      wanted: '$wanted',`,
    'store wanted',
  ),
  mutant(
    'what ran out and was not taken yet can be evicted',
    STEPS,
    'const query = { _id: key, ...(HELD as object), grant }',
    `const query = { _id: key, owner: { $type: 'string' }, grant }`,
    'store (expiry|evict)',
  ),
  {
    ...mutant(
      'a write counts as soon as one node has it',
      'src/stores/mongo/database.ts',
      `{ w: 'majority', j: true, wtimeout`,
      '{ w: 1, j: true, wtimeout',
      'an isolated old primary',
    ),
    tests: 'test/faults/mongo-store-majority.test.ts',
  },
  {
    ...mutant(
      'the TTL index removes a record whose number is ahead of the clock',
      STEPS,
      `const kept = { $set: { idleFrom: idleFrom('$expiresAt', '$grant') } }`,
      `const kept = { $set: { idleFrom: '$expiresAt' } }`,
      'the TTL index',
    ),
    tests: 'test/faults/mongo-store-server.test.ts',
  },
  {
    bug: 'the TTL index removes a record as soon as its lease is over',
    changes: [
      {
        file: 'src/stores/mongo/schema.ts',
        find: 'key: { idleFrom: 1 }, expireAfterSeconds: keepSeconds }',
        replace: 'key: { idleFrom: 1 }, expireAfterSeconds: 0 }',
      },
      {
        file: 'src/stores/mongo/schema.ts',
        find: 'if (found === keepSeconds &&',
        replace: 'if (found !== undefined && keepSeconds > 0 &&',
      },
    ],
    only: 'the TTL index',
    tests: 'test/faults/mongo-store-server.test.ts',
  },
  mutant(
    'what ran out is listed',
    STEPS,
    '...this.#find({ _id: name, ...(HELD as object) }, RECORD, limit + 1)',
    `...this.#find({ _id: name, owner: { $type: 'string' } }, RECORD, limit + 1)`,
    'store (list|expiry)',
  ),
  {
    ...mutant(
      'what was given up while the client was being opened is sent all the same',
      'src/stores/mongo/database.ts',
      'signal.throwIfAborted()',
      'void signal',
      'is never sent',
    ),
    tests: 'test/faults/mongo-given-up.test.ts',
  },
  {
    ...mutant(
      'a forced release takes the key from whoever has it when it arrives',
      STEPS,
      'const query = { _id: key, ...(HELD as object), grant }',
      'const query = grant > 0 ? { _id: key, ...(HELD as object) } : { _id: key, grant }',
      'MongoDB G5 that arrives once more|MongoDB G5 leaves',
    ),
    tests: 'test/faults/forced-release.test.ts',
  },
  {
    ...mutant(
      'of many renewals each counts that is in force afterwards, whether it was prolonged or not',
      'src/stores/mongo/store.ts',
      "if (Number(written['n']) === open.length) break",
      "if (Number(written['n']) <= open.length) break",
      'G2 many leases',
    ),
    tests: 'test/faults/mongo-clock-behind.test.ts',
  },
]

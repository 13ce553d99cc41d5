import { type Bug, mutant } from '../mutant.ts'

const STEPS = 'src/stores/postgres/steps.ts'
const STATEMENTS = 'src/stores/postgres/statements.ts'
const TWO_STEPS = 'test/faults/postgres-steps.test.ts'

export const POSTGRES_BUGS: readonly Bug[] = [
  {
    ...mutant(
      'an ask is judged by the clock before it had to wait',
      STEPS,
      'from (select clock_timestamp() as now) as n\n      offset 0',
      'from (select statement_timestamp() as now) as n\n      offset 0',
      'G1 G11',
    ),
    tests: TWO_STEPS,
  },
  {
    ...mutant(
      'the grant number is the one of the ask, drawn before the wait',
      STEPS,
      `greatest(l.grant_number + 1, \${micros('d.now')})`,
      'excluded.grant_number',
      'G3 an ask whose number',
    ),
    tests: TWO_STEPS,
  },
  {
    ...mutant(
      'the end of a lease comes from the clock of the client',
      STEPS,
      `case when d.free then \${later('d.now', 'excluded')}`,
      `case when d.free then \${later(\`to_timestamp(\${Date.now() / 1000})\`, 'excluded')}`,
      'G11 whose clock is off by -5 hours',
    ),
    tests: 'test/faults/postgres-holders.test.ts',
  },
  mutant(
    'a release deletes what is known of the number',
    'src/stores/postgres/expressions.ts',
    'FREED: string = `owner = null,',
    'FREED: string = `owner = null, grant_number = 0,',
    'store grants',
  ),
  {
    ...mutant(
      'rows are locked in the order of the asks',
      STEPS,
      'order by a.key collate "C"',
      '',
      'batches in opposite order',
    ),
    tests: TWO_STEPS,
  },
  mutant(
    'what ran out is renewed as long as nobody took it',
    STEPS,
    'where l.owner = excluded.owner and l.expires_at > clock_timestamp()',
    'where l.owner = excluded.owner',
    'store expiry',
  ),
  mutant(
    'a release tells nobody',
    'src/stores/postgres/expressions.ts',
    'WAKE_WOKEN: string = `case when l.woken is not null',
    'WAKE_WOKEN: string = `case when l.woken is null and l.woken is not null',
    'store (watch|push)',
  ),
  {
    ...mutant(
      'whoever waits is told before the release is committed',
      'src/stores/postgres/store.ts',
      'async release(claims: readonly Claim[]): Promise<readonly ReleaseAnswer[]> {',
      `async release(claims: readonly Claim[]): Promise<readonly ReleaseAnswer[]> {
    const { schema, table } = this.#settings.names
    const early = \`select pg_notify('holdfast:' || l.waiters[1], '=' || l.key) from "\${schema}"."\${table}" as l
      where l.key = any($1::text::text[]) and cardinality(l.waiters) > 0\`
    await this.#query({ text: early }, [arrayOf(claims.map(({ key }) => key))])
    await this.#query({ text: 'select pg_sleep(0.02)' }, [])`,
      'nobody asks in vain',
    ),
    tests: 'test/faults/postgres-holders.test.ts',
  },
  {
    ...mutant(
      'a grant is told before it is on disk, where the server is set so',
      'src/stores/postgres/expressions.ts',
      `then set_config('synchronous_commit', 'on', true) end\``,
      `then set_config('synchronous_commit', 'off', true) end\``,
      'synchronous_commit = off',
    ),
    tests: 'test/faults/postgres-durability.test.ts',
  },
  mutant(
    'a prefix is taken for a pattern',
    STATEMENTS,
    'starts_with(l.key, $2)',
    `l.key like $2 || '%'`,
    'store list',
  ),
  mutant(
    'an eviction does not look at the grant number',
    STATEMENTS,
    'locked.grant_number = $2::text::bigint',
    'locked.grant_number >= 0 * $2::text::bigint',
    'store (evict|repeats)',
  ),
  mutant(
    'answers come in the order of the keys, not of the asks',
    STEPS,
    'select array_agg(owner) = $2::text::text[] and bool_and(previous is null) as plain,',
    'select bool_and(owner = any($2::text::text[])) and bool_and(previous is null) as plain,',
    'store (acquire|large batches)',
  ),
  {
    ...mutant(
      'a query of postgres.js that was given up is sent with its values when a connection is there',
      'src/databases/lent-values.ts',
      'lent as (V | null)[]).fill(null)',
      'lent as (V | null)[]).slice()',
      'G5 a step that gave up before it had a connection',
    ),
    tests: 'test/faults/postgres-js-given-up.test.ts',
  },
  {
    ...mutant(
      'a forced release takes the key also from one who got it while it was under way',
      'src/stores/shared/eviction.ts',
      'left?.since === since ? left : undefined',
      'left',
      'G5 a forced release leaves the key',
    ),
    tests: 'test/faults/postgres-evict.test.ts',
  },
  {
    ...mutant(
      'what a transform of postgres.js makes undefined is taken for another answer than null',
      'src/stores/postgres/postgres-js.ts',
      'value ?? null',
      'value',
      'transform of each value G6',
    ),
    tests: 'test/faults/postgres-js-transform.test.ts',
  },
  {
    ...mutant(
      'a table whose collation takes different keys for one is used',
      'src/stores/postgres/schema.ts',
      "&& deterministic === 'false'",
      "&& deterministic === 'no'",
      'a table made by hand whose keys',
    ),
    tests: 'test/faults/postgres-table.test.ts',
  },
]

import type { MysqlDialect } from '../../databases/mysql-version.ts'
import type { Ask, Claim, Renewal } from '../../store.ts'
import type { Change } from './database.ts'
import { bytes, CLOCK, line, number, SESSION, SETTINGS, START } from './expressions.ts'
import { type Names, qualified } from './schema.ts'

/** What was decided, for the assignments that follow: the key was free, or is the asker's own. */
const FREE = 2
const OURS = 1
const NOT = 0

/** Added to what is noted of a lease that is released when it has run out. */
const RAN_OUT = 2

const COLUMNS =
  '`key`, owner, granted_at, lease_ms, grant_number, holder, previous, expires_at, wanted, decided_at, verdict, freed_wanted'

/**
 * The steps that locking is made of, as upserts of many rows. A row that exists is locked first; then its assignments
 * run from left to right, and each sees those before it. The first reads the clock, once for all of them; the second
 * decides; `owner` and `expires_at`, on which that rests, come last.
 *
 * All rows come in the order of their keys. Where a change returns nothing, the outcome is read afterwards: it is told
 * from what is in the row, and not from the verdict, which others overwrite.
 */
export class Steps {
  readonly #table: string
  readonly #dialect: MysqlDialect

  constructor(names: Names, dialect: MysqlDialect) {
    this.#table = qualified(names)
    this.#dialect = dialect
  }

  acquire(asks: readonly Ask[]): Change {
    const rows = asks.map(({ key, owner, leaseMs, holder }) => {
      const lease = number(leaseMs)
      return [
        key,
        // A later value sees the columns before it. For a new record the start of the statement is early enough.
        `${bytes(key)}, ${bytes(owner)}, ${START}, ${lease}, granted_at, ${bytes(JSON.stringify(holder))}, null,
          granted_at + ${lease} * 1000, 0, granted_at, ${FREE}, 0`,
      ] as const
    })
    const later = 'decided_at + values(lease_ms) * 1000'
    return this.#upsert(
      rows,
      [
        `decided_at = ${CLOCK}`,
        `verdict = case when owner is null or expires_at <= decided_at then ${FREE}
          when owner = values(owner) then ${OURS} else ${NOT} end`,
        `previous = case verdict when ${NOT} then previous
          when ${FREE} then case when owner is not null and grant_number > 0 then holder end end`,
        `holder = case verdict when ${FREE} then values(holder) else holder end`,
        `grant_number = case verdict when ${FREE} then greatest(grant_number + 1, decided_at) else grant_number end`,
        `granted_at = case verdict when ${FREE} then decided_at else granted_at end`,
        `lease_ms = case verdict when ${FREE} then values(lease_ms) else lease_ms end`,
        `wanted = case verdict when ${FREE} then 0 when ${OURS} then wanted else 1 end`,
        `expires_at = case verdict when ${FREE} then ${later} when ${OURS} then greatest(expires_at, ${later})
          else expires_at end`,
        `owner = case verdict when ${FREE} then values(owner) else owner end`,
      ],
      (returned) => [
        'hex(owner)',
        'grant_number',
        'hex(previous)',
        returned ? `case verdict when ${NOT} then hex(holder) end` : 'hex(holder)',
        `case when owner is null then 0 else expires_at - ${CLOCK} end`,
      ],
    )
  }

  /**
   * A record that is missing comes into being, with no number above 0 and long run out: it means nothing, and goes
   * with the next clean-up. `wanted` carries whether to rotate; the number, below zero, what to raise it to.
   */
  renew(renewals: readonly Renewal[]): Change {
    const rows = renewals.map(({ key, owner, leaseMs, rotate, raiseTo }) =>
      absent(key, owner, { lease: number(leaseMs), grant: number(-(raiseTo ?? 0)), wanted: rotate ? 1 : 0 }),
    )
    return this.#upsert(
      rows,
      [
        `decided_at = ${CLOCK}`,
        `verdict = case when owner = values(owner) and expires_at > decided_at then ${OURS} else ${NOT} end`,
        `lease_ms = case verdict when ${OURS} then values(lease_ms) else lease_ms end`,
        `grant_number = case verdict when ${NOT} then grant_number else
          case values(wanted) when 1 then greatest(grant_number + 1, decided_at)
          else greatest(grant_number, -values(grant_number)) end end`,
        `expires_at = case verdict when ${OURS} then greatest(expires_at, decided_at + values(lease_ms) * 1000)
          else expires_at end`,
      ],
      () => ['hex(owner)', 'case when expires_at > decided_at then grant_number else 0 end'],
    )
  }

  /**
   * `call` is new each time, and stands in the record of a key that this call has freed: so only one of two that are sent
   * at once says so.
   */
  release(claims: readonly Claim[], call: string): Change {
    return this.#upsert(
      claims.map(({ key, owner }) => absent(key, owner, { call })),
      [
        `decided_at = ${CLOCK}`,
        `verdict = case when owner = values(owner) then ${OURS} else ${NOT} end`,
        `freed = case verdict when ${OURS} then values(previous) else freed end`,
        `freed_wanted = case verdict when ${OURS} then wanted + case when expires_at > decided_at then 0 else ${RAN_OUT} end
          else freed_wanted end`,
        `owner = case verdict when ${OURS} then null else owner end`,
      ],
      () => ['hex(freed)', `freed_wanted < ${RAN_OUT}`, `mod(freed_wanted, ${RAN_OUT})`],
    )
  }

  /** `call`: as for a release. The number goes below zero: a record that comes into being means nothing. */
  evict(key: string, grant: number, call: string): Change {
    return this.#upsert(
      [absent(key, call, { grant: number(-grant), call })],
      [
        `decided_at = ${CLOCK}`,
        `verdict = case when owner is not null and expires_at > decided_at
          and grant_number = -values(grant_number) then ${OURS} else ${NOT} end`,
        `freed = case verdict when ${OURS} then values(previous) else freed end`,
        `freed_wanted = case verdict when ${OURS} then wanted else freed_wanted end`,
        `owner = case verdict when ${OURS} then null else owner end`,
      ],
      () => ['hex(freed)', ...record('decided_at', 'freed_wanted')],
    )
  }

  #upsert(
    rows: readonly (readonly [key: string, values: string])[],
    assignments: readonly string[],
    answer: (returned: boolean) => readonly string[],
  ): Change {
    const { mariadb, returning } = this.#dialect
    const sorted = rows.toSorted(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
    const change = `${mariadb ? SETTINGS : ''}insert into ${this.#table} (${COLUMNS}) values
${sorted.map(([, values]) => `(${values})`).join(',\n')}
on duplicate key update ${assignments.join(',\n')}`
    if (returning) {
      const returned = line(...SESSION, 'hex(`key`)', ...answer(true))
      return { change: `${change}\nreturning ${returned}`, read: null }
    }
    const keys = sorted.map(([key]) => bytes(key)).join(', ')
    // What locks is not for a replica: a proxy that sends other reads there would have a lost renewal told as renewed.
    const read = `select ${line('hex(`key`)', ...answer(false))} from ${this.#table} where \`key\` in (${keys}) for update`
    return { change, read }
  }
}

/** What `recordOf` reads. */
export function record(now: string, wanted: string): string[] {
  return ['grant_number', 'hex(holder)', 'granted_at', 'lease_ms', `expires_at - ${now}`, wanted]
}

function absent(
  key: string,
  owner: string,
  { lease = '0', grant = '0', wanted = 0, call = '' } = {},
): readonly [key: string, values: string] {
  const values = `${bytes(key)}, ${bytes(owner)}, 0, ${lease}, ${grant}, ${bytes('{}')}, ${bytes(call)}, 0, ${wanted}, 0, ${NOT}, 0`
  return [key, values]
}

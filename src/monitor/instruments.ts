import { BOUNDS, type HistogramSnapshot } from './histogram.ts'
import type { LockStats } from './stats.ts'

/**
 * Every number that leaves the process, once: `holdfast/otel` and `/metrics` of the server both go by this table, so
 * that one dashboard fits both. Each point also has the attributes `store` and `service`. A key is never one.
 */
interface Described {
  /** In OpenTelemetry. */
  readonly name: string
  /** What OpenTelemetry's exporter makes of it. */
  readonly prometheus: string
  readonly unit: string
  readonly description: string
  /** Besides `store` and `service`. */
  readonly attributes: readonly string[]
}

/** A counter only rises. A gauge is a sum over processes: an UpDownCounter in OpenTelemetry. */
export interface NumberInstrument extends Described {
  readonly kind: 'counter' | 'gauge'
  read(stats: LockStats): readonly Point[]
}

export interface HistogramInstrument extends Described {
  readonly kind: 'histogram'
  /** Upper bounds in seconds; above the last there is one bucket more. */
  readonly bounds: readonly number[]
  read(stats: LockStats): readonly HistogramPoint[]
}

export interface Point {
  readonly attributes: Readonly<Record<string, string>>
  readonly value: number
}

export interface HistogramPoint {
  readonly attributes: Readonly<Record<string, string>>
  readonly count: number
  readonly sum: number
  /** One for each bound and one above: how many fell there, not summed up. */
  readonly buckets: readonly number[]
}

/** The ends of a request. */
const OUTCOMES = { granted: 'granted', timedOut: 'timeout', aborted: 'aborted', failed: 'failed' } as const
/** The steps that go in batches. */
export const STEPS: readonly ['acquire', 'renew', 'release'] = ['acquire', 'renew', 'release']

export const NUMBERS: readonly NumberInstrument[] = [
  counter('holdfast.requests', '{request}', 'Keys that were asked for.', [], ({ requests }) => [
    point({}, requests),
  ]),
  counter(
    'holdfast.acquisitions',
    '{acquisition}',
    'Requests that ended, by outcome: granted, timeout, aborted or failed.',
    ['outcome'],
    (stats) =>
      (Object.keys(OUTCOMES) as (keyof typeof OUTCOMES)[]).map((name) =>
        point({ outcome: OUTCOMES[name] }, stats[name]),
      ),
  ),
  counter(
    'holdfast.handoffs',
    '{handoff}',
    'Grants that were passed on inside the process, without a store call.',
    [],
    ({ handedOff }) => [point({}, handedOff)],
  ),
  counter(
    'holdfast.reentries',
    '{reentry}',
    'Grants to a section that had the key already.',
    [],
    ({ reentered }) => [point({}, reentered)],
  ),
  counter(
    'holdfast.takeovers',
    '{takeover}',
    'Grants of a key whose holder let its lease run out.',
    [],
    ({ takenOver }) => [point({}, takenOver)],
  ),
  counter(
    'holdfast.holds',
    '{hold}',
    'Leases that ended, by end: released or lost.',
    ['end'],
    ({ released, lost }) => [point({ end: 'released' }, released), point({ end: 'lost' }, lost)],
  ),
  counter(
    'holdfast.evictions',
    '{eviction}',
    'Keys that this client has freed by force.',
    [],
    ({ evicted }) => [point({}, evicted)],
  ),
  counter(
    'holdfast.conflicts',
    '{conflict}',
    'Requests that had to wait, by the service of the holder.',
    ['holder'],
    ({ conflicts }) => conflicts.map(({ holder, count }) => point({ holder }, count)),
  ),
  counter(
    'holdfast.renewals',
    '{renewal}',
    'Renewals of leases, by outcome: renewed or failed.',
    ['outcome'],
    ({ renewals, renewalFailures }) => [
      point({ outcome: 'renewed' }, renewals),
      point({ outcome: 'failed' }, renewalFailures),
    ],
  ),
  counter(
    'holdfast.store.calls',
    '{call}',
    'Calls to the store, by step and outcome: answered or failed. Other steps list or free by force.',
    ['step', 'outcome'],
    callsByStep,
  ),
  counter(
    'holdfast.store.keys',
    '{key}',
    'Keys in those calls: by the number of calls it is the size of a batch.',
    ['step'],
    ({ steps }) => STEPS.map((step) => point({ step }, steps[step].keys)),
  ),
  gauge(
    'holdfast.lock.count',
    '{lock}',
    'Keys by state: held by this process, or waited for.',
    ['state'],
    ({ held, waiting }) => [point({ state: 'held' }, held), point({ state: 'waiting' }, waiting)],
  ),
  gauge(
    'holdfast.pool.connection.count',
    '{connection}',
    "Connections of the driver's pool by state: used or idle. Absent if it does not tell.",
    ['state'],
    ({ pool }) =>
      pool === null
        ? []
        : [point({ state: 'used' }, pool.open - pool.idle), point({ state: 'idle' }, pool.idle)],
  ),
  gauge(
    'holdfast.pool.pending_requests',
    '{request}',
    "Calls that wait for a connection of the driver's pool. Absent if it does not tell.",
    [],
    ({ pool }) => (pool === null ? [] : [point({}, pool.waiting)]),
  ),
]

/** From the request to the lease, of those granted; a re-entry is none, as it never waits. */
export const ACQUIRE_DURATION: HistogramInstrument = histogram(
  'holdfast.acquire.duration',
  'From the request to the lease, of requests that were granted. Re-entries are not in it.',
  [],
  ({ wait, reentered }) => {
    const { count, buckets, ...rest } = spread({}, wait)
    // They stand in the statistics as waits of 0, and there is no event for them.
    return [{ ...rest, count: count - reentered, buckets: buckets.with(0, buckets[0]! - reentered) }]
  },
)

export const HOLD_DURATION: HistogramInstrument = histogram(
  'holdfast.hold.duration',
  'From the lease to its release or loss.',
  [],
  ({ hold }) => [spread({}, hold)],
)

export const CALL_DURATION: HistogramInstrument = histogram(
  'holdfast.store.call.duration',
  'How long the store took to answer, by step.',
  ['step'],
  ({ steps }) => STEPS.map((step) => spread({ step }, steps[step].latency)),
)

export const HISTOGRAMS: readonly HistogramInstrument[] = [ACQUIRE_DURATION, HOLD_DURATION, CALL_DURATION]

function callsByStep({ steps, storeCalls, storeFailures }: LockStats): Point[] {
  const inSteps = (what: 'calls' | 'failures'): number =>
    STEPS.reduce((sum, step) => sum + steps[step][what], 0)
  const others = { calls: storeCalls - inSteps('calls'), failures: storeFailures - inSteps('failures') }
  return Object.entries({ ...steps, other: others }).flatMap(([step, { calls, failures }]) => [
    point({ step, outcome: 'answered' }, calls - failures),
    point({ step, outcome: 'failed' }, failures),
  ])
}

function point(attributes: Point['attributes'], value: number): Point {
  return { attributes, value }
}

/** A snapshot has only the buckets that are not empty. */
function spread(attributes: Point['attributes'], snapshot: HistogramSnapshot): HistogramPoint {
  const counts = new Map(snapshot.buckets.map(({ leMs, count }) => [leMs, count]))
  const buckets = [...BOUNDS, Infinity].map((bound) => counts.get(bound) ?? 0)
  return { attributes, count: snapshot.count, sum: snapshot.sumMs / 1000, buckets }
}

function counter(
  name: string,
  unit: string,
  description: string,
  attributes: readonly string[],
  read: NumberInstrument['read'],
): NumberInstrument {
  const prometheus = `${name.replaceAll('.', '_')}_total`
  return { kind: 'counter', name, prometheus, unit, description, attributes, read }
}

function gauge(...given: Parameters<typeof counter>): NumberInstrument {
  const made = counter(...given)
  return { ...made, kind: 'gauge', prometheus: made.name.replaceAll('.', '_') }
}

function histogram(
  name: string,
  description: string,
  attributes: readonly string[],
  read: HistogramInstrument['read'],
): HistogramInstrument {
  // Through text: 0.02 / 1000 has more digits than it should.
  const bounds = BOUNDS.map((ms) => Number((ms / 1000).toPrecision(3)))
  const prometheus = name.replaceAll('.', '_')
  return { kind: 'histogram', name, prometheus, unit: 's', description, attributes, bounds, read }
}

import { z } from 'zod'
import { checkDuration } from '../duration.ts'
import { LONGEST_TIMER_MS } from '../environment.ts'
import { MAX_PATTERN_LENGTH, MOST_PATTERNS } from '../key-pattern.ts'
import { MIN_LEASE_MS } from '../option-check.ts'
import { type Problems, shown } from './problems.ts'
import type { LocksConfig, StoreConfig } from './settings.ts'

const MOST_COUNT = 1_000_000
const MAX_URL_LENGTH = 10_000
const FORM = /^\d+(?:\.\d+)?(?:ms|s|m|h)$/

const lease = duration(MIN_LEASE_MS)
const wait = duration(0, { allowInfinity: true })

const STORE = {
  url: text('a URL such as postgres://host/database', MAX_URL_LENGTH).describe('Where the locks are kept.'),
  prefix: text('the text that all names in Redis begin with', 100).describe('Redis. Default holdfast.'),
  replicas: whole(100).describe('Redis: how many replicas must have a grant. Default 0.'),
  push: flag().describe('Redis: whether waiters are woken by messages. Default true.'),
  schema: text('the name of a schema', 63).describe('PostgreSQL. Default public.'),
  table: text('the name of a table', 63).describe('PostgreSQL, MySQL, SQLite. Default holdfast_locks.'),
  keep: duration(60_000).describe('PostgreSQL, MySQL, MongoDB: how long a free record stays. Default 1h.'),
  create: flag().describe('PostgreSQL, MySQL: whether to create what is missing. Default true.'),
  listen: z
    .union([z.boolean(), text('a URL', MAX_URL_LENGTH)], { error: "give true, false, or the server's URL" })
    .describe('PostgreSQL: whether waiters are woken, or the URL to listen at. Default true.'),
  database: text('the name of a database', 63).describe('MongoDB, MySQL. Default: the one in the URL.'),
  collection: text('the name of a collection', 200).describe('MongoDB. Default holdfast_locks.'),
}

const store = named(optional(STORE), 'a URL, or ').describe('A URL with options of its store.')

const ALERTS = {
  webhook: text('an http or https URL', 2000).describe('Where alerts are sent to. Needs a secret.'),
  secret: text('the secret that alerts are signed with', 1000).describe('Better by HOLDFAST_ALERT_SECRET.'),
  every: duration(1000, { most: 60_000 }).describe('How often to look. Default 5s.'),
  heldTooLong: limit(1000).describe('A key is held for that long. Default 5m.'),
  waitedTooLong: limit(1000).describe('A key is waited for for that long. Default 10s.'),
  failureRate: failureRate().describe(
    'The share of requests within a minute that fail, of at least so many. Default 0.5 of 20.',
  ),
  conflicts: count(true).describe('Requests within a minute that met another service. Default 60.'),
  storeUnreachable: limit(1000).describe('No call has succeeded for that long. Default 15s.'),
  poolExhausted: limit(1000).describe('Calls wait for a connection for that long. Default 10s.'),
  renewalsFailing: limit(1000).describe('Renewals fail for that long. Default 15s.'),
  lost: count(true).describe('Leases that are lost within a minute. Default 1.'),
  tokenJump: limit(5000).describe('How far tokens may jump or fall behind. Default 1m.'),
}

const SETTINGS = {
  $schema: z.string({ error: 'give the path of the JSON Schema' }),
  service: text('a text').describe('Names this program to people and metrics. Default unnamed.'),
  instance: text('a text').describe('Names this process. Default: made of host and process id.'),
  lease: lease.describe('How long a key is kept for a holder that is not heard of. Default 30s.'),
  wait: wait.describe("How long acquire waits. 0: one try; 'Infinity': for ever. Default 5s."),
  callTimeout: duration(10).describe('The limit of one store call. Default 3s.'),
  poll: named(optional({ min: duration(1), max: duration(1) })).describe(
    'How often a waiter asks again by itself. Default 25ms to 500ms.',
  ),
  keys: patterns().describe(
    "Defaults for keys that fit a pattern such as 'report:*'. The one with the most letters counts.",
  ),
  alerts: named(optional(ALERTS)).describe('When to raise alerts; false switches a limit off.'),
}

const config = named(optional({ store, ...SETTINGS }))

/** The JSON Schema of a configuration, for editors and for checks before a roll-out. */
export const configSchema: Readonly<Record<string, unknown>> = Object.freeze({
  ...z.toJSONSchema(
    named(
      optional({ store: z.union([STORE.url, store]).describe('A URL, or one with options.'), ...SETTINGS }),
    ),
    { target: 'draft-7', io: 'input' },
  ),
  title: 'Configuration of holdfast',
})

/** What came of the merge with the environment, so that `store` is an object. */
export type Merged = Omit<LocksConfig, 'store'> & { readonly store?: StoreConfig | undefined }

/** Everything that is wrong with each value on its own goes to `problems`. The result has the settings that are right. */
export function checkShape(value: Readonly<Record<string, unknown>>, problems: Problems): Merged {
  const result = config.safeParse(value)
  for (const { path, message } of result.error?.issues ?? []) problems.add(path, message)
  return Object.fromEntries(Object.entries(value).filter(([name]) => !problems.has(name)))
}

/** Unknown names are errors, with a list of the known ones. `or`: what may stand there instead. */
function named<S extends z.core.$ZodLooseShape>(shape: S, or = ''): z.ZodObject<S, z.core.$strict> {
  const known = Object.keys(shape).filter((name) => name !== '$schema')
  return z.strictObject(shape, {
    error: (issue) => {
      if (issue.code !== 'unrecognized_keys') return `give ${or}an object with any of ${known.join(', ')}`
      const unknown = (issue as { keys?: readonly string[] }).keys ?? []
      return `unknown ${unknown.slice(0, 10).map(shown).join(', ')}, known are ${known.join(', ')}`
    },
  })
}

function optional<S extends Record<string, z.ZodType>>(shape: S): { [K in keyof S]: z.ZodOptional<S[K]> } {
  const entries = Object.entries(shape).map(([name, type]) => [name, type.optional()])
  return Object.fromEntries(entries) as { [K in keyof S]: z.ZodOptional<S[K]> }
}

function patterns(): z.ZodType {
  const error = "give an object such as { 'report:*': { lease: '10m' } }"
  const ofKey = `a pattern has 1 to ${MAX_PATTERN_LENGTH} characters, '*' is for all keys`
  const pattern = z.string().min(1).max(MAX_PATTERN_LENGTH)
  return z
    .record(pattern, named(optional({ lease, wait, atLeast: duration(0) })), {
      error: ({ code }) => (code === 'invalid_key' ? ofKey : error),
    })
    .refine((value) => Object.keys(value).length <= MOST_PATTERNS, {
      error: `give at most ${MOST_PATTERNS} patterns`,
    })
    .meta({ maxProperties: MOST_PATTERNS })
}

function text(what: string, most = 200): z.ZodType<string> {
  const error = `give ${what}, of 1 to ${most} characters without control characters`
  return z
    .string({ error })
    .min(1, { error })
    .max(most, { error })
    .refine((value) => !/\p{Cc}/u.test(value), { error })
}

function whole(most: number): z.ZodType<number> {
  const error = `give a whole number from 0 to ${most}`
  return z.number({ error }).int({ error }).min(0, { error }).max(most, { error })
}

function flag(): z.ZodType<boolean> {
  return z.boolean({ error: 'give true or false' })
}

interface DurationTerms {
  readonly allowInfinity?: boolean
  readonly allowFalse?: boolean
  readonly most?: number
}

function duration(min: number, terms: DurationTerms = {}): z.ZodType {
  const { allowInfinity = false, allowFalse = false, most = LONGEST_TIMER_MS } = terms
  const last = `${allowInfinity ? ", or 'Infinity'" : ''}${allowFalse ? ', or false' : ''}`
  const to = most === LONGEST_TIMER_MS ? '24 days' : `${most} ms`
  const error = `give milliseconds or a number with a unit such as '250ms', '30s', '5m' or '1h', from ${min} ms to ${to}${last}`
  const number = z.number({ error }).min(min, { error }).max(most, { error })
  const withUnit = z
    .string({ error })
    .regex(FORM, { error })
    .refine((value) => fits(value, min, most), { error })
  const others = [...(allowInfinity ? ['Infinity'] : []), ...(allowFalse ? [false] : [])]
  return z.union([number, withUnit, ...others.map((other) => z.literal(other, { error }))], { error })
}

function limit(min: number): z.ZodType {
  return duration(min, { allowFalse: true })
}

function count(allowFalse = false): z.ZodType {
  const error = `give a whole number from 1 to ${MOST_COUNT}${allowFalse ? ', or false' : ''}`
  const number = z.number({ error }).int({ error }).min(1, { error }).max(MOST_COUNT, { error })
  return allowFalse ? z.union([number, z.literal(false)], { error }) : number
}

function failureRate(): z.ZodType {
  const of = 'give a number above 0 and up to 1'
  const share = z.number({ error: of }).gt(0, { error: of }).max(1, { error: of })
  const error = 'give an object such as { share: 0.5, least: 20 }, or false'
  return z.union([named(optional({ share, least: count() })), z.literal(false)], { error })
}

function fits(value: string, min: number, most: number): boolean {
  try {
    const ms = checkDuration(value, { name: '', min })
    return ms >= min && ms <= most
  } catch {
    return false
  }
}

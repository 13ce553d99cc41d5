import { z } from 'zod'
import type {
  EventJson,
  LockDetailJson,
  LockJson,
  LockPageJson,
  ProblemJson,
  ReleasedJson,
  StatsJson,
  StreamJson,
  TurnJson,
} from './wire.ts'

/** The types of `wire.ts` as JSON Schema, for `/openapi.json`: the compiler compares the two. */

const ms = z.number().describe('milliseconds')
const time = z.number().describe('milliseconds since 1970')
const grant = z.int().positive()

const lock: z.ZodType<LockJson> = z.object({
  key: z.string(),
  grant,
  token: z.string().describe('the first fencing token of the grant, as text: it is larger than 2^53'),
  service: z.string(),
  instance: z.string(),
  context: z.string().nullable(),
  since: time,
  heldMs: ms,
  leaseMs: ms,
  remainingMs: ms,
  wanted: z.boolean().describe('another waits for it'),
})

const page: z.ZodType<LockPageJson> = z.object({
  locks: z.array(lock),
  next: z.string().nullable().describe('give as `after` for the next page; null on the last'),
})

const turn: z.ZodType<TurnJson> = z.object({
  grant,
  service: z.string(),
  instance: z.string(),
  context: z.string().nullable(),
  since: time,
  heldMs: ms,
  end: z.enum(['held', 'gone', 'forced']),
})

const detail: z.ZodType<LockDetailJson> = z.object({
  key: z.string(),
  lock: lock.nullable(),
  history: z.array(turn).describe('as far as this server has seen it, newest first'),
})

const released: z.ZodType<ReleasedJson> = z.object({ released: lock })

const problem: z.ZodType<ProblemJson> = z.object({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  code: z.string(),
})

const alert: z.ZodType<Omit<StatsJson['alerts'][number], 'kind'>> = z.looseObject({
  kind: z.string(),
  state: z.enum(['on', 'over']),
  incident: z.string(),
  key: z.string().nullable(),
  value: z.number(),
  limit: z.number(),
  message: z.string(),
  lastedMs: ms,
})

const stats: z.ZodType<Omit<StatsJson, 'stats' | 'alerts'>> = z.object({
  stats: z
    .looseObject({ requests: z.number(), granted: z.number(), held: z.number(), waiting: z.number() })
    .describe('what locks.stats() gives'),
  fleet: z.boolean(),
  client: z.object({ store: z.string(), service: z.string(), instance: z.string() }),
  store: z.object({ ok: z.boolean(), latencyMs: ms.nullable(), error: z.string().nullable() }),
  alerts: z.array(alert),
  server: z.object({
    version: z.string(),
    upMs: ms,
    mayRelease: z.boolean(),
    readOnly: z.boolean(),
    limited: z.string().nullable(),
  }),
})

const hello: z.ZodType<StreamJson['hello']> = z.object({ version: z.string() })

const locks: z.ZodType<StreamJson['locks']> = z.object({
  all: z.boolean(),
  held: z.array(lock),
  freed: z.array(z.object({ key: z.string(), grant })),
  renewed: z.array(z.tuple([z.string(), ms])),
})

const event: z.ZodType<Omit<EventJson, 'name'>> = z.object({
  name: z.string(),
  at: time,
  key: z.string().nullable(),
  text: z.string(),
})

const store: z.ZodType<StreamJson['store']> = z.object({ ok: z.boolean(), error: z.string().nullable() })

const status: z.ZodType<{ status: string }> = z.object({ status: z.enum(['live', 'ready']) })

export type SchemaName =
  | 'LockPage'
  | 'LockDetail'
  | 'Released'
  | 'Stats'
  | 'Health'
  | 'Problem'
  | 'HelloMessage'
  | 'LocksMessage'
  | 'EventMessage'
  | 'StoreMessage'

const ALL: Readonly<Record<SchemaName, z.ZodType>> = {
  LockPage: page,
  LockDetail: detail,
  Released: released,
  Stats: stats,
  Health: status,
  Problem: problem,
  HelloMessage: hello,
  LocksMessage: locks,
  EventMessage: event,
  StoreMessage: store,
}

export function jsonSchemas(): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(ALL).map(([name, schema]) => {
      const { $schema: _, ...rest } = z.toJSONSchema(schema)
      return [name, rest]
    }),
  )
}

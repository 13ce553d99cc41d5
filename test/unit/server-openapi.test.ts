import { expect, it } from 'vitest'
import { z } from 'zod'
import { watchLocks } from '../../src/alerts/index.ts'
import { ROUTES } from '../../src/server/routes.ts'
import { type ServerStage, serverStage } from './support/server-stage.ts'

interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly in: string }[]
  readonly responses: Record<
    string,
    { readonly content: Record<string, { readonly schema?: { $ref?: string } }> }
  >
}

interface Document {
  readonly paths: Record<string, Record<string, Operation>>
  readonly components: { readonly schemas: Record<string, Parameters<typeof z.fromJSONSchema>[0]> }
}

async function documentOf({ ask }: ServerStage): Promise<Document> {
  return (await ask<Document>('/openapi.json')).body
}

/** What the document itself says of an answer. */
function schemaOf(
  { components, paths }: Document,
  [method, path, status]: readonly [string, string, number],
): z.ZodType {
  const answer = paths[path]?.[method]?.responses[status]
  const [content] = Object.values(answer?.content ?? {})
  const text = JSON.stringify(content?.schema).replaceAll('#/components/schemas/', '#/$defs/')
  return z.fromJSONSchema({ ...JSON.parse(text), $defs: components.schemas })
}

it('/openapi.json has every route, and no other', async () => {
  const { paths } = await documentOf(serverStage())
  const documented = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  )
  const routed = ROUTES.map(({ method, path }) => `${method} ${path.replace(/:(\w+)(\{.*\})?/, '{$1}')}`)
  expect(documented.sort()).toEqual(routed.sort())
})

it('/openapi.json describes real answers', async () => {
  const stage = serverStage({ observe: 'always' })
  const { locks, other, ask, time } = stage
  const document = await documentOf(stage)
  await locks.acquire(['a', 'b'], { context: 'why', lease: '10m' })
  await locks.forceRelease('b')
  await other().acquire('b')
  const watcher = watchLocks(locks, { on: { heldTooLong: '1s' }, environment: time })
  await time.advance(20_000)
  const { grant } = (await locks.inspect('a'))!
  const answers: [method: string, path: string, at: string, status: number][] = [
    ['get', '/api/locks', '/api/locks', 200],
    ['get', '/api/locks', '/api/locks?key=a', 200],
    ['get', '/api/locks', '/api/locks?limit=0', 400],
    ['get', '/api/locks/{key}', '/api/locks/a', 200],
    ['get', '/api/locks/{key}', '/api/locks/b', 200],
    ['get', '/api/locks/{key}', '/api/locks/free', 200],
    ['get', '/api/stats', '/api/stats', 200],
    ['get', '/health/live', '/health/live', 200],
    ['get', '/health/ready', '/health/ready', 200],
    ['delete', '/api/locks/{key}', '/api/locks/a', 400],
    ['delete', '/api/locks/{key}', '/api/locks/a?grant=1', 409],
    ['delete', '/api/locks/{key}', `/api/locks/a?grant=${grant}&why=because`, 200],
    ['delete', '/api/locks', `/api/locks?key=a&grant=${grant}`, 404],
  ]
  for (const [method, path, at, status] of answers) {
    const answer = await ask(at, { method: method.toUpperCase() })
    expect([at, answer.status]).toEqual([at, status])
    expect([at, schemaOf(document, [method, path, status]).safeParse(answer.body).error]).toEqual([
      at,
      undefined,
    ])
  }
  await watcher.stop()
})

it('/openapi.json would not take another answer', async () => {
  const stage = serverStage()
  const document = await documentOf(stage)
  const schema = schemaOf(document, ['get', '/api/locks/{key}', 200])
  const { body } = await stage.ask('/api/locks/a')
  expect(schema.safeParse(body).success).toBe(true)
  expect(schema.safeParse({ ...body, lock: { key: 'a' } }).success).toBe(false)
  expect(schema.safeParse({}).success).toBe(false)
})

it('/openapi.json describes the messages of /api/events', async () => {
  const stage = serverStage()
  const { locks, store, stream, time } = stage
  const { schemas } = (await documentOf(stage)).components
  const reader = await stream()
  await time.settle()
  await locks.acquire('a', { lease: '3s' })
  await time.advance(5000)
  store.mood.list = 'fail'
  await time.advance(5000)
  const messages = reader.take()
  const names = { hello: 'HelloMessage', locks: 'LocksMessage', event: 'EventMessage', store: 'StoreMessage' }
  expect(new Set(messages.map(({ event }) => event))).toEqual(new Set(Object.keys(names)))
  for (const { event, data } of messages) {
    const schema = z.fromJSONSchema(schemas[names[event as keyof typeof names]]!)
    expect([event, schema.safeParse(data).error]).toEqual([event, undefined])
  }
})

it('/openapi.json names the parameters that are taken, and no other', async () => {
  const stage = serverStage()
  const { paths } = await documentOf(stage)
  const { body } = await stage.ask<{ detail: string }>('/api/locks?x=1')
  const known = body.detail.replace(/^.*known are /, '').split(', ')
  const documented = paths['/api/locks']!['get']!.parameters!.map(({ name }) => name)
  expect(documented.toSorted()).toEqual(known.toSorted())
})

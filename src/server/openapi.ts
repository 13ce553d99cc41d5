import { jsonSchemas, type SchemaName } from './schemas.ts'

let known: string | null = null

/** The document behind `/openapi.json`, made once. A test compares it with the routes and with real answers. */
export function openApiText(version: string): string {
  return (known ??= JSON.stringify(openApi(version)))
}

function openApi(version: string): object {
  return {
    openapi: '3.1.0',
    info: {
      title: 'holdfast',
      version,
      description: 'Who holds which key, and to free one by force. Errors are problem+json with a `code`.',
    },
    paths: PATHS,
    components: {
      schemas: jsonSchemas(),
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
    },
    // Without a token it serves this machine alone.
    security: [{ token: [] }, {}],
  }
}

const KEY = parameter('key', 'the key, percent-encoded', { in: 'path', required: true })
const KEY_IN_QUERY = parameter('key', 'this key; the answer is that of /api/locks/{key}')
const RELEASE_PARAMETERS = [
  parameter('grant', 'only if this grant is still in force', { required: true, schema: whole(1) }),
  parameter('why', 'the reason, for the audit', { schema: { type: 'string', maxLength: 500 } }),
  parameter('Origin', 'names the address that is asked', { in: 'header', required: true }),
]
const DENIED = {
  401: problem('no token, or a wrong one'),
  403: problem('not under this name, or not at all'),
}
const DOWN = { 503: problem('the store does not answer; see Retry-After') }
const READ = { ...DENIED, 400: problem('the request is wrong'), ...DOWN }
const RELEASED = {
  200: answer('it was freed', 'Released'),
  ...READ,
  404: problem('nobody holds it'),
  409: problem('it has moved on to another grant; nothing was freed'),
}

const PATHS = {
  '/api/locks': {
    get: operation('What is held, a page at a time', {
      parameters: [
        KEY_IN_QUERY,
        parameter('prefix', 'only keys that begin with it'),
        parameter('service', 'only those of this service'),
        parameter('wanted', 'only those that another waits for, or does not', {
          schema: { type: 'boolean' },
        }),
        parameter('after', 'the `next` of the page before'),
        parameter('limit', 'how many, 100 if absent', { schema: { ...whole(1), maximum: 1000 } }),
      ],
      responses: { 200: answer('a page; with `key` one lock', 'LockPage', 'LockDetail'), ...READ },
    }),
    delete: operation('Frees the key of ?key=', {
      parameters: [{ ...KEY_IN_QUERY, required: true }, ...RELEASE_PARAMETERS],
      responses: RELEASED,
    }),
  },
  '/api/locks/{key}': {
    get: operation('Who holds a key', {
      parameters: [KEY],
      responses: { 200: answer('its lock, or null', 'LockDetail'), ...READ },
    }),
    delete: operation('Frees a key whoever holds it', {
      parameters: [KEY, ...RELEASE_PARAMETERS],
      responses: RELEASED,
    }),
  },
  '/api/stats': {
    get: operation('Numbers of the process that serves', {
      responses: { 200: answer('statistics, the store, alerts', 'Stats'), ...READ },
    }),
  },
  '/api/events': {
    get: operation('What changes, as server-sent events: hello, locks, event, store', {
      parameters: [parameter('Last-Event-ID', 'where to go on', { in: 'header' })],
      responses: {
        200: {
          description: 'messages as HelloMessage, LocksMessage, EventMessage and StoreMessage have them',
          content: { 'text/event-stream': { schema: { type: 'string' } } },
        },
        ...READ,
      },
    }),
  },
  '/metrics': { get: operation('For Prometheus', { responses: { 200: text('text/plain'), ...DENIED } }) },
  '/health/live': {
    get: operation('This process answers', { security: [], responses: { 200: answer('it does', 'Health') } }),
  },
  '/health/ready': {
    get: operation('The store answers too', {
      security: [],
      responses: { 200: answer('it does', 'Health'), ...DOWN },
    }),
  },
  '/openapi.json': {
    get: operation('This document', { security: [], responses: { 200: text('application/json') } }),
  },
  '/': { get: operation('The dashboard', { security: [], responses: { 200: text('text/html') } }) },
  '/assets/{name}': {
    get: operation('Its files', {
      security: [],
      parameters: [parameter('name', 'of the file', { in: 'path', required: true })],
      responses: { 200: text('application/octet-stream'), 404: problem('there is none of that name') },
    }),
  },
}

function operation(summary: string, rest: object): object {
  return { summary, ...rest }
}

function parameter(name: string, description: string, rest: object = {}): object {
  return { name, in: 'query', description, schema: { type: 'string' }, ...rest }
}

function answer(description: string, ...names: SchemaName[]): object {
  const [schema = {}, ...others] = names.map((name) => ({ $ref: `#/components/schemas/${name}` }))
  return {
    description,
    content: {
      'application/json': { schema: others.length === 0 ? schema : { anyOf: [schema, ...others] } },
    },
  }
}

function problem(description: string): object {
  const schema = { $ref: '#/components/schemas/Problem' }
  return { description, content: { 'application/problem+json': { schema } } }
}

function text(type: string): object {
  return { description: type, content: { [type]: {} } }
}

function whole(minimum: number): object {
  return { type: 'integer', minimum }
}

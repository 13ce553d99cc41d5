import { serve } from '@hono/node-server'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { AddressInfo, Server } from 'node:net'
import { Hono } from 'hono'
import { secureHeaders } from 'hono/secure-headers'
import type { Locks } from '../../../src/index.ts'
import { lockServer } from '../../../src/server/index.ts'
import type { Action, Shop } from './shop.ts'

const FIRST_PORT = 7373
const PORTS = 50
const FILES = { '/': 'page.html', '/page.js': 'page.js', '/page.css': 'page.css' }
const TYPES = { html: 'text/html', js: 'text/javascript', css: 'text/css' }

export interface Site {
  readonly url: string
  /** With the token that lets its reader free keys. */
  readonly dashboard: string
  close(): Promise<void>
}

/** The page with the buttons, and the dashboard behind `/locks/`. For this machine only. */
export async function openSite(shop: Shop, locks: Locks, story: () => readonly string[]): Promise<Site> {
  const token = randomBytes(24).toString('base64url')
  const dashboard = lockServer(locks, { token, observe: 'always', stats: () => shop.stats() })
  const app = new Hono()
  app.use(secureHeaders({ contentSecurityPolicy: { defaultSrc: ["'self'"] } }))
  // A page of another site, or another name for this machine, has no business here.
  app.use(async (c, next) => {
    const host = new URL(c.req.url).host
    const origin = c.req.header('origin')
    const isOurs = /^(127\.0\.0\.1|localhost):\d+$/.test(host) && (!origin || origin === `http://${host}`)
    return isOurs ? next() : c.text('not for you', 403)
  })
  for (const [path, file] of Object.entries(FILES)) {
    const type = TYPES[file.split('.')[1] as keyof typeof TYPES]
    const text = readFileSync(new URL(`./page/${file}`, import.meta.url), 'utf8').replace('{{token}}', token)
    app.get(path, (c) => c.body(text, 200, { 'content-type': `${type}; charset=utf-8` }))
  }
  app.get('/state', async (c) => c.json({ ...(await shop.look()), story: story() }))
  app.post('/do/:action{kill|pause|locks}', (c) =>
    shop.do(c.req.param('action') as Action) ? c.body(null, 204) : c.text('something else is going on', 409),
  )
  app.mount('/locks', dashboard)
  const server = await listen(app)
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}/`
  return {
    url,
    dashboard: `${url}locks/#token=${token}`,
    close: async () => {
      await dashboard.close()
      server.close()
      if ('closeAllConnections' in server) (server as { closeAllConnections(): void }).closeAllConnections()
    },
  }
}

/** The next free port, if others are taken. */
async function listen(app: Hono): Promise<Server> {
  for (let port = FIRST_PORT; port < FIRST_PORT + PORTS; port += 1) {
    const server = serve({ fetch: app.fetch, hostname: '127.0.0.1', port }) as Server
    try {
      await once(server, 'listening')
      return server
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    }
  }
  throw new Error(`all ports from ${FIRST_PORT} to ${FIRST_PORT + PORTS - 1} are taken`)
}

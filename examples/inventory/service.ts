/** One process of one service, as `Instance` starts it. It ends when it is told to, and when its parent has gone. */
import { serve } from '@hono/node-server'
import type { AddressInfo } from 'node:net'
import { createLocks, type Duration } from '../../src/index.ts'
import { openDatabase } from './database.ts'
import type { Report, ServiceName, Setup, Word } from './messages.ts'
import { businessApp, storageApp } from './services.ts'
import { StockRoom } from './stock-room.ts'

const [name, instance, setupJson] = process.argv.slice(2) as [ServiceName, string, string]
const setup = JSON.parse(setupJson) as Setup
const tell = (report: Report): void => void (process.connected && process.send?.(report))

const database = await openDatabase(setup.stock)
const locks = createLocks(setup.locks, {
  service: name,
  instance,
  lease: setup.lease as Duration,
  wait: setup.wait as Duration,
  logger: null,
})
let thinkingOf: string | null = null
const room = new StockRoom({
  service: name,
  locks,
  database,
  thinkMs: setup.thinkMs,
  onThinking: (code) => {
    thinkingOf = code
    tell({ is: 'thinking', code })
  },
})
room.keeping = setup.keeping
const app = name === 'storage' ? storageApp(room) : businessApp(room)
const server = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, (address: AddressInfo) => {
  tell({ is: 'ready', url: `http://127.0.0.1:${address.port}` })
})

const obey = (word: Word): void => {
  if (word.do === 'keep') room.keeping = word.keeping
  if (word.do === 'stop') void stop()
  if (word.do === 'pause') pause()
  if (word.do === 'report') {
    const { rss: rssBytes, heapUsed: heapBytes } = process.memoryUsage()
    const { user, system } = process.cpuUsage()
    const { connections } = database
    tell({
      is: 'usage',
      usage: { stats: locks.stats(), cpuMs: (user + system) / 1000, rssBytes, heapBytes, connections },
    })
  }
}
/**
 * By itself, for only it knows when: who is stopped in a transaction of SQLite keeps all others from the file, and there is
 * no server that could end it.
 */
function pause(): void {
  const code = thinkingOf
  if (code === null || room.writing > 0) {
    if (process.connected) setTimeout(pause, 1)
    return
  }
  tell({ is: 'paused', code })
  process.kill(process.pid, 'SIGSTOP')
}

process.on('message', obey)
process.on('disconnect', () => void stop())
// The parent hears Ctrl-C too, and says what is to be done.
process.on('SIGINT', () => undefined)

let stopping = false
async function stop(): Promise<void> {
  if (stopping) return
  stopping = true
  server.close()
  if ('closeAllConnections' in server) server.closeAllConnections()
  await locks.close()
  await database.close()
  if (process.connected) process.disconnect()
}

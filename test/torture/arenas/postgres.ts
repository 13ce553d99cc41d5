import { startPostgres } from '../../servers/postgres.ts'
import { ServerLogs } from './server-logs.ts'
import { serverStrike } from '../nemesis/server-strikes.ts'
import type { Arena } from './arena.ts'

export default async function open(folder: string): Promise<Arena> {
  const server = await startPostgres()
  const logs = new ServerLogs(folder)
  const { url } = server
  return {
    url,
    addresses: ['pg', 'postgres', 'url'].map((driver) => ({ kind: 'postgres', driver, url })),
    ports: [server.port],
    strike: (random) => serverStrike(random, server, { logs, forgets: false }),
    keepLogs: () => logs.keep([server]),
    stop: () => server.stop(),
  }
}

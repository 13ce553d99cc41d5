import { startMariadb } from '../../servers/mariadb.ts'
import { ServerLogs } from './server-logs.ts'
import { serverStrike } from '../nemesis/server-strikes.ts'
import type { Arena } from './arena.ts'

export default async function open(folder: string): Promise<Arena> {
  const server = await startMariadb()
  const logs = new ServerLogs(folder)
  const { url } = server
  return {
    url,
    addresses: ['mysql2', 'mariadb', 'url'].map((driver) => ({ kind: 'mariadb', driver, url })),
    ports: [server.port],
    strike: (random) => serverStrike(random, server, { logs, forgets: false }),
    keepLogs: () => logs.keep([server]),
    stop: () => server.stop(),
  }
}

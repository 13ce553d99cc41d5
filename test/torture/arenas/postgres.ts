import { startPostgres } from '../../servers/postgres.ts'
import { ServerLogs } from './server-logs.ts'
import { serverStrike } from '../nemesis/server-strikes.ts'
import type { Arena } from './arena.ts'

export default async function open(folder: string): Promise<Arena> {
  // A server that ends waits for each connection that it is about to refuse to say who it is: one behind a frozen proxy
  // would keep it for a minute, which is longer than any server is waited for.
  const server = await startPostgres({ settings: { authentication_timeout: 10 } })
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

import { appendFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

interface Logging {
  readonly port: number
  readonly pid: number
}

/**
 * What servers have said, by a file for each. A server begins its log anew when it starts: keep it before one ends.
 * Their logs go to files in folders of their own, which Linux tells; elsewhere there are none.
 */
export class ServerLogs {
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  keep(servers: readonly Logging[]): void {
    for (const server of servers) {
      try {
        const log = readFileSync(`/proc/${server.pid}/fd/1`, 'utf8')
        appendFileSync(join(this.#folder, `server-${server.port}.log`), log)
      } catch {
        // It does not run.
      }
    }
  }
}

/**
 * A real etcd for tests. Importing this finds the program, or installs it: no time limit of a test counts that.
 *
 *     const server = await startEtcd()
 *     server.url                    // also host, port, pid
 *     await server.put('key', 'value')
 *     await server.restart()        // in order. Same port, same data; also kill, pause, stop
 */
import { join } from 'node:path'
import { serverAccount } from './account.ts'
import { freePort } from './free-port.ts'
import { programFolder } from './programs.ts'
import { ServerFolder } from './server-folder.ts'
import { type ServerProgram, ServerProcess } from './server-process.ts'
import { StartedServer } from './started-server.ts'

const HOST = '127.0.0.1'

const programs = await programFolder({
  name: 'etcd',
  files: ['etcd'],
  folders: ['/usr/bin', '/usr/local/bin', '/opt/homebrew/bin'],
  packages: ['etcd-server'],
})

/** All other defaults are those of etcd itself. */
export async function startEtcd(): Promise<EtcdServer> {
  const account = serverAccount('etcd')
  const folder = new ServerFolder('etcd', 'SIGTERM', account)
  try {
    // For others of its kind, of which there are none.
    const peers = `http://${HOST}:${await freePort()}`
    const program: ServerProgram = {
      name: 'etcd',
      file: join(programs, 'etcd'),
      account,
      args: (port) => [
        ...['--name', 'one', '--data-dir', 'data', '--logger', 'zap', '--log-outputs', 'stderr'],
        ...['--listen-client-urls', urlOf(port), '--advertise-client-urls', urlOf(port)],
        ...['--listen-peer-urls', peers, '--initial-advertise-peer-urls', peers],
        ...['--initial-cluster', `one=${peers}`],
      ],
      listening: () => 'serving client traffic',
      probe: (port) => ask(urlOf(port), 'kv/range', { key: base64('probe') }),
    }
    return new EtcdServer(await ServerProcess.start(program, folder), folder)
  } catch (error) {
    await folder.remove()
    throw error
  }
}

class EtcdServer extends StartedServer {
  readonly url: string = urlOf(this.port)

  async put(key: string, value: string): Promise<void> {
    await ask(this.url, 'kv/put', { key: base64(key), value: base64(value) })
  }
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}

function urlOf(port: number): string {
  return `http://${HOST}:${port}`
}

async function ask(url: string, what: string, body: object): Promise<void> {
  const signal = AbortSignal.timeout(5000)
  const response = await fetch(`${url}/v3/${what}`, { method: 'POST', body: JSON.stringify(body), signal })
  if (!response.ok) throw new Error(`etcd answers ${response.status}: ${await response.text()}`)
}

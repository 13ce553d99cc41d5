import { existsSync } from 'node:fs'
import { createServer } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { processTree, survivors } from '../servers/process-tree.ts'
import { ServerFolder } from '../servers/server-folder.ts'
import { ServerProcess, type ServerProgram } from '../servers/server-process.ts'

/** A server with a child, in a few lines; SIGTERM does not end it. */
const SCRIPT = `
  process.on('SIGTERM', () => {})
  require('node:net').createServer().listen(process.argv[1], '127.0.0.1', () => {
    require('node:child_process').spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
    console.log('bound ' + process.argv[1])
  })
`

let folder: ServerFolder

beforeEach(() => {
  folder = new ServerFolder('example', 'SIGTERM', undefined)
})

afterEach(() => folder.remove())

function program(over: Partial<ServerProgram> = {}): ServerProgram {
  return {
    name: 'Example',
    file: process.execPath,
    account: undefined,
    args: (port) => ['-e', SCRIPT, `${port}`],
    listening: (port) => `bound ${port}`,
    probe: () => Promise.resolve(),
    ...over,
  }
}

describe('a server process', () => {
  it('takes another port if someone else was faster, and does not take the other for itself', async () => {
    const faster = createServer()
    const ports: number[] = []
    const args = (port: number): string[] => {
      if (ports.length === 0) faster.listen(port)
      ports.push(port)
      return ['-e', SCRIPT, `${port}`]
    }
    const server = await ServerProcess.start(program({ args }), folder)
    expect(ports).toHaveLength(2)
    expect(server.port).toBe(ports[1])
    await server.kill()
    faster.close()
  })

  it('waits until the server answers', async () => {
    let probes = 0
    const probe = async (): Promise<void> => {
      probes += 1
      if (probes < 3) throw new Error('still starting')
    }
    const server = await ServerProcess.start(program({ probe }), folder)
    expect(probes).toBe(3)
    await server.kill()
  })

  it('says which program it could not run', async () => {
    await expect(ServerProcess.start(program({ file: '/absent/example' }), folder)).rejects.toThrow(
      /Example \(\/absent\/example, port \d+\) ended instead of starting/,
    )
  })

  it('goes with its folder and its children, though all stand still and it ignores the signal', async () => {
    const server = await ServerProcess.start(program(), folder)
    const pids = processTree(server.pid)
    expect(pids).toHaveLength(2)
    await server.pause()
    await folder.remove()
    await expect.poll(() => survivors(pids)).toEqual([])
    expect(existsSync(folder.path)).toBe(false)
  })
})

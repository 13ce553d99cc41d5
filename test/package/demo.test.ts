import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

const root = resolve(import.meta.dirname, '..', '..')

let scratch: string
let demo: Demo

beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), 'holdfast-demo-test-'))
  demo = new Demo()
})

afterEach(async () => {
  await demo.kill()
  rmSync(scratch, { recursive: true, force: true })
})

describe('the demonstration, where there is no terminal', () => {
  it('kills a holder, pauses one for longer than its lease, and ends with books that are right', async () => {
    const [code] = await demo.ended
    if (code !== 0) throw new Error(`it ended with ${String(code)}:\n${demo.output}`)
    const [, killed] = /(\S+) was killed with SIGKILL while it held (stock:SKU-\d)/.exec(demo.output) ?? []
    expect(killed).toBeDefined()
    expect(demo.output).toContain(`takes the place of ${killed}`)
    const [, paused] = /(\S+) was paused with SIGSTOP while it held stock:SKU-\d/.exec(demo.output) ?? []
    expect(demo.output).toContain(`${paused} goes on, knows that it is late, and stores nothing`)
    expect(demo.output.match(/took stock:SKU-\d over [\d.]+ s later, with a higher token/g)).toHaveLength(2)
    expect(demo.output).toMatch(/stock (\d+) \+ sold [1-9]\d* = 30000, of 30000: the books are right/)
    expect(demo.output).toContain('no key is left held')
    expect(demo.output).not.toContain('\x1b')
    expect(demo.pids).toHaveLength(5)
    await nothingIsLeft()
  })

  it('has a page with buttons for this machine alone, and the dashboard of its locks', async () => {
    await demo.says('for its locks')
    const [, page = ''] = /open (\S+) for the shop/.exec(demo.output) ?? []
    expect(await (await fetch(page)).text()).toContain('data-action="kill"')
    expect((await fetch(`${page}locks/health/ready`)).status).toBe(200)
    expect(
      (await fetch(`${page}do/kill`, { method: 'POST', headers: { origin: 'http://evil.example' } })).status,
    ).toBe(403)
    const state = (await (await fetch(`${page}state`)).json()) as { instances: unknown[] }
    expect(state.instances).toHaveLength(4)
    expect((await fetch(`${page}do/kill`, { method: 'POST' })).status).toBe(204)
    await demo.says('was killed with SIGKILL')
    demo.process.kill('SIGINT')
    expect(await demo.ended).toEqual([130, null])
    await nothingIsLeft()
  })

  it('leaves nothing behind when it is told to end in the middle', async () => {
    await demo.says('was killed with SIGKILL')
    demo.process.kill('SIGTERM')
    expect(await demo.ended).toEqual([143, null])
    await nothingIsLeft()
  })

  it('leaves nothing behind when npm start is ended by its pid, whatever shell stands between', async () => {
    await demo.kill()
    // Without the build of the dashboard that goes before it.
    demo = new Demo('npm', ['start', '--ignore-scripts'])
    await demo.says('for its locks')
    demo.process.kill('SIGTERM')
    await demo.saidAll
    await nothingIsLeft()
    expect(demo.output).toContain('the books are right')
    // It would have gone on by itself.
    expect(demo.output).not.toContain('was paused with SIGSTOP')
  })

  it('takes its processes along when it is killed itself', async () => {
    await demo.says('for its locks')
    await demo.kill()
    await eventually(() => !demo.pids.some(isAlive))
  })

  it('leaves nothing behind when nobody reads on', async () => {
    await demo.says('for its locks')
    demo.process.stdout?.destroy()
    expect(await demo.ended).toEqual([0, null])
    await nothingIsLeft()
  })
})

class Demo {
  output = ''
  readonly process: ChildProcess
  readonly ended: Promise<unknown[]>
  /** When nobody is left who could say more. */
  readonly saidAll: Promise<unknown[]>

  constructor(command = process.execPath, args = ['--import', 'tsx', 'examples/inventory/demo/index.ts']) {
    this.process = spawn(command, args, {
      cwd: root,
      env: { ...process.env, TMPDIR: scratch },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    this.process.stdout?.on('data', (chunk: Buffer) => (this.output += chunk.toString()))
    this.ended = once(this.process, 'exit')
    this.saidAll = once(this.process, 'close')
  }

  get pids(): number[] {
    return [...this.output.matchAll(/\(pid (\d+)\)/g)].map(([, pid]) => Number(pid))
  }

  async says(words: string): Promise<void> {
    await eventually(() => this.output.includes(words))
  }

  async kill(): Promise<void> {
    this.process.kill('SIGKILL')
    await this.ended
  }
}

async function nothingIsLeft(): Promise<void> {
  expect(demo.pids.length).toBeGreaterThanOrEqual(4)
  await eventually(() => !demo.pids.some(isAlive))
  await eventually(() => !readdirSync(scratch).some((name) => name.startsWith('holdfast-')))
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

async function eventually(condition: () => boolean): Promise<void> {
  const end = performance.now() + 60_000
  while (!condition()) {
    if (performance.now() > end) throw new Error(`waited in vain for ${condition.toString()}`)
    await sleep(20)
  }
}

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
  it('tells the whole story and ends by itself', async () => {
    expect(await demo.ended).toEqual([0, null])
    const killed = /worker 2 was killed with SIGKILL while it held stock:42 \(token (\d+)\)/.exec(demo.output)
    const successor = /worker ([134]) took over [\d.]+ s later with token (\d+), which is higher/.exec(
      demo.output,
    )
    expect(killed).not.toBeNull()
    expect(successor).not.toBeNull()
    expect(BigInt(successor?.[2] ?? '')).toBeGreaterThan(BigInt(killed?.[1] ?? ''))
    expect(demo.output).toMatch(/stock:42 +worker 2 +\d+ .* \d/)
    expect(demo.output).toMatch(new RegExp(`stock:42 +.* ${successor?.[1]} from 2`))
    expect(demo.output).toContain('all workers have ended, and no key is left held')
    expect(demo.output).toMatch(/(\d+) sections were finished, and the counters say \1:/)
    expect(demo.output).not.toContain('\x1b')
    expect(demo.pids).toHaveLength(5)
    await nothingIsLeft()
  })

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('leaves nothing behind when %s ends it in the middle', async (signal, code) => {
    await demo.says('does not let go')
    demo.process.kill(signal)
    expect(await demo.ended).toEqual([code, null])
    await nothingIsLeft()
  })

  it('leaves nothing behind when it is killed itself', async () => {
    await demo.says('was killed with SIGKILL')
    await demo.kill()
    await nothingIsLeft()
  })

  it('leaves nothing behind when nobody reads on', async () => {
    await demo.says('worker 4 is ready')
    demo.process.stdout?.destroy()
    expect(await demo.ended).toEqual([0, null])
    await nothingIsLeft()
  })
})

class Demo {
  output = ''
  readonly process: ChildProcess
  readonly ended: Promise<unknown[]>

  constructor() {
    this.process = spawn(process.execPath, ['--import', 'tsx', 'examples/demo/index.ts'], {
      cwd: root,
      env: { ...process.env, TMPDIR: scratch },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    this.process.stdout?.on('data', (chunk: Buffer) => (this.output += chunk.toString()))
    this.ended = once(this.process, 'exit')
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

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { createLocks } from '../../src/locks.ts'
import { bundled } from '../support/bundled.ts'
import { atLast, until } from '../support/stage.ts'

const CLI = await bundled(fileURLToPath(new URL('../../src/cli/index.ts', import.meta.url)))
const folder = mkdtempSync(join(tmpdir(), 'holdfast-cli-elect-'))
atLast(() => rmSync(folder, { recursive: true, force: true }))
const STORE = `sqlite:${join(folder, 'locks.db')}`
const locks = createLocks(STORE, { logger: null })
atLast(() => locks.close())

/** Leads until it is told to end, and then ends well. */
const LEADER =
  'trap "echo told; exit 0" TERM; echo $HOLDFAST_KEY $HOLDFAST_TOKEN; while :; do sleep 0.02; done'

class Candidate {
  readonly child: ChildProcess
  readonly ended: Promise<number | NodeJS.Signals>
  out = ''

  constructor(options: readonly string[], name: string, script: string) {
    const args = ['--no-warnings', CLI, 'elect', ...options, name, '--', 'sh', '-c', script]
    const env = { ...process.env, HOLDFAST_STORE: STORE }
    this.child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'ignore'] })
    this.child.stdout?.on('data', (text: Buffer) => (this.out += String(text)))
    this.ended = new Promise((resolve) => {
      this.child.once('close', (code, signal) => resolve(code ?? signal ?? 0))
    })
    atLast(() => this.child.kill('SIGKILL'))
  }

  /** The token of that term of its own. */
  async leads(term = 1): Promise<bigint> {
    const tokens = (): string[] => this.out.match(/(?<=^\w+ )\d+(?=\n)/gm) ?? []
    await until(`term ${term} in ${this.out}`, () => tokens().length >= term)
    return BigInt(tokens()[term - 1] ?? '')
  }
}

async function wanted(name: string): Promise<void> {
  await until('another candidate', async () => (await locks.inspect(name))?.wanted)
}

// At the same time: they mostly wait.
describe.concurrent('holdfast elect', () => {
  it('G3 lets another lead as soon as the leader is asked to end, with a greater token', async () => {
    const one = new Candidate([], 'resigned', LEADER)
    const first = await one.leads()
    const two = new Candidate([], 'resigned', LEADER)
    await wanted('resigned')
    one.child.kill('SIGTERM')
    // Before its lease of 30 s has run out.
    expect(await two.leads()).toBeGreaterThan(first)
    expect([await one.ended, one.out.endsWith('told\n')]).toEqual([0, true])
    two.child.kill('SIGTERM')
    expect(await two.ended).toBe(0)
    expect(await locks.inspect('resigned')).toBeNull()
  })

  it('lets another lead when the leader is killed, and takes the command of that one along', async () => {
    const one = new Candidate(['--lease', '1s'], 'killed', LEADER)
    const first = await one.leads()
    const two = new Candidate(['--lease', '1s'], 'killed', LEADER)
    await wanted('killed')
    one.child.kill('SIGKILL')
    // Its output ends with the last process that has it.
    expect([await one.ended, one.out.endsWith('told\n')]).toEqual(['SIGKILL', true])
    expect(await two.leads()).toBeGreaterThan(first)
  })

  it('ends the command when its term is lost, and stands again', async () => {
    const candidate = new Candidate(['-l', '6s', '--pause', '10ms'], 'lost', LEADER)
    const first = await candidate.leads()
    await locks.forceRelease('lost')
    expect(await candidate.leads(2)).toBeGreaterThan(first)
    expect(candidate.out).toMatch(/^lost \d+\ntold\nlost \d+\n$/)
  })

  it('ends with the command, as it does', async () => {
    const candidate = new Candidate([], 'ended', 'exit 9')
    expect(await candidate.ended).toBe(9)
    expect(await locks.inspect('ended')).toBeNull()
  })

  it('with --again stands again when the command has ended, until it is asked to end itself', async () => {
    const stay = join(folder, 'stay')
    const script = `echo $HOLDFAST_KEY $HOLDFAST_TOKEN; test -e ${stay} || exit 1; echo stays; sleep 60`
    const candidate = new Candidate(['--again', '--pause', '10ms'], 'again', script)
    expect(await candidate.leads(2)).toBeGreaterThan(await candidate.leads(1))
    writeFileSync(stay, '')
    await until('a term that lasts', () => candidate.out.includes('stays'))
    candidate.child.kill('SIGTERM')
    expect(await candidate.ended).toBe(143)
  })
})

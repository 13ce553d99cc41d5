import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { processes } from '../../src/cli/processes.ts'
import { createLocks } from '../../src/locks.ts'
import { freshPrefix } from '../servers/shared-redis.ts'
import { tcpProxy } from '../servers/tcp-proxy.ts'
import { bundled } from '../support/bundled.ts'
import { atLast, until } from '../support/stage.ts'

const CLI = await bundled(fileURLToPath(new URL('../../src/cli/index.ts', import.meta.url)))
const folder = mkdtempSync(join(tmpdir(), 'holdfast-cli-run-'))
atLast(() => rmSync(folder, { recursive: true, force: true }))
const STORE = `sqlite:${join(folder, 'locks.db')}`
const locks = createLocks(STORE, { logger: null })
atLast(() => locks.close())

/** Ignores SIGTERM, and so does what it starts. */
const STUBBORN = 'trap "" TERM; sleep 60 & echo $! $$; wait; wait'
/** Tells the numbers of what it starts and of itself. */
const WITH_CHILD = 'sleep 60 & echo $! $$; wait'

class Run {
  readonly child: ChildProcess
  readonly ended: Promise<number | NodeJS.Signals>
  out = ''
  err = ''

  constructor(program: string, args: readonly string[], env: NodeJS.ProcessEnv) {
    this.child = spawn(program, args, { env: { ...process.env, HOLDFAST_STORE: STORE, ...env } })
    this.child.stdout?.on('data', (text: Buffer) => (this.out += String(text)))
    this.child.stderr?.on('data', (text: Buffer) => (this.err += String(text)))
    this.ended = new Promise((resolve) => {
      this.child.once('close', (code, signal) => resolve(code ?? signal ?? 0))
    })
    atLast(() => this.child.kill('SIGKILL'))
  }

  type(text: string): void {
    this.child.stdin?.write(text)
  }

  async says(what: RegExp): Promise<RegExpExecArray> {
    await until(`${String(what)} in ${this.out}`, () => what.test(this.out))
    return what.exec(this.out) as RegExpExecArray
  }

  /** The two that WITH_CHILD and STUBBORN tell. */
  async family(): Promise<number[]> {
    const [, child, self] = await this.says(/(\d+) (\d+)/)
    return [Number(child), Number(self)]
  }
}

function run(args: readonly string[], env: NodeJS.ProcessEnv = {}): Run {
  return new Run(process.execPath, ['--no-warnings', CLI, 'run', ...args], env)
}

/**
 * At a terminal of its own, where it is in front. What is typed is read by whoever reads the terminal. `after`: lines
 * for the shell that has started it; else the terminal goes away with it, and whoever is there hears of that.
 */
function runAtTerminal(args: readonly string[], after?: string): Run {
  const line = [process.execPath, '--no-warnings', CLI, 'run', ...args].map((arg) => `'${arg}'`).join(' ')
  const lines = after === undefined ? `exec ${line}` : `${line}; ${after}`
  return new Run('script', ['--quiet', '--flush', '--return', '--command', lines, '/dev/null'], {})
}

function living(pids: readonly number[]): number[] {
  const all = processes()
  return pids.filter((pid) => all.has(pid))
}

// At the same time: they mostly wait.
describe.concurrent('holdfast run', () => {
  it('gives its command the key, the token, its input and its output, and takes the exit code', async () => {
    const command = run([
      '--context',
      'why',
      'plain',
      '--',
      'sh',
      '-c',
      'echo $HOLDFAST_KEY $HOLDFAST_TOKEN; cat; exit 7',
    ])
    const [, token = ''] = await command.says(/plain (\d+)\n/)
    const record = await locks.inspect('plain')
    expect(record?.holder).toMatchObject({ service: 'holdfast', context: 'why' })
    expect(BigInt(token) / 1024n).toBe(BigInt(record?.grant ?? 0))
    command.child.stdin?.end('a word\n')
    expect(await command.ended).toBe(7)
    expect([command.out.endsWith('\na word\n'), command.err]).toEqual([true, ''])
    expect(await locks.inspect('plain')).toBeNull()
  })

  it('G3 gets the key as soon as the one before has ended, with a greater token', async () => {
    const { url, prefix } = freshPrefix()
    const env = { HOLDFAST_STORE: url, HOLDFAST_PREFIX: prefix }
    const first = run(['turns', '--', 'sh', '-c', 'echo $HOLDFAST_TOKEN; cat'], env)
    const [, token = ''] = await first.says(/(\d+)/)
    const second = run(['turns', '--', 'sh', '-c', 'echo $HOLDFAST_TOKEN'], env)
    const third = run(['-nE', '42', 'turns', '--', 'echo', 'ran'], env)
    // Without a word: cron would send it by mail.
    expect([await third.ended, third.out, third.err]).toEqual([42, '', ''])
    expect(second.out).toBe('')
    first.child.stdin?.end()
    expect(await Promise.all([first.ended, second.ended])).toEqual([0, 0])
    expect(BigInt(second.out)).toBeGreaterThan(BigInt(token))
  })

  it('tells as shells do that there is no such command, or that it cannot be run, and frees the key', async () => {
    const runs = [
      ['one', '--', join(folder, 'nothing')],
      ['two', '--', folder],
      ['three', '--', join(folder, 'locks.db', 'nothing')],
    ].map((args) => run(args))
    expect(await Promise.all(runs.map(({ ended }) => ended))).toEqual([127, 126, 126])
    expect(runs[0]?.err).toBe(`holdfast: ${join(folder, 'nothing')}: command not found\n`)
    expect(await Promise.all(['one', 'two', 'three'].map((key) => locks.inspect(key)))).toEqual([
      null,
      null,
      null,
    ])
  })

  it('passes SIGTERM on to all that the command has started, and waits until they have ended', async () => {
    const command = run(['ended', '--', 'sh', '-c', WITH_CHILD])
    const family = await command.family()
    command.child.kill('SIGTERM')
    expect(await command.ended).toBe(143)
    expect(living(family)).toEqual([])
  })

  it('passes SIGUSR1 and SIGHUP on to a command that takes them for something else', async () => {
    const script =
      'trap "echo usr1" USR1; trap "echo hup" HUP; trap "echo term; exit 3" TERM; sleep 60 & echo $! $$; '
    const command = run(['asked', '--', 'sh', '-c', `${script} while :; do sleep 0.02; done`])
    const family = await command.family()
    command.child.kill('SIGUSR1')
    await command.says(/usr1/)
    // Those that it has started know nothing of it.
    expect(living(family)).toEqual(family)
    command.child.kill('SIGHUP')
    await command.says(/hup/)
    command.child.kill('SIGTERM')
    expect(await command.ended).toBe(3)
  })

  it('ends what the command leaves behind before the key is free', async () => {
    const command = run(['--grace', '100ms', 'left', '--', 'sh', '-c', 'trap "" TERM; sleep 60 & echo $! $$'])
    const family = await command.family()
    const lease = await locks.acquire('left', { wait: '10s' })
    expect(living(family)).toEqual([])
    await lease.release()
    expect(await command.ended).toBe(0)
  })

  it('after a loss ends the command and all that it has started, and exits with 79', async () => {
    const command = run(['-l', '600ms', '--grace', '100ms', 'lost', '--', 'sh', '-c', STUBBORN])
    const family = await command.family()
    await locks.forceRelease('lost')
    expect(await command.ended).toBe(79)
    expect(living(family)).toEqual([])
    expect(command.err).toContain('the command may not have been alone')
  })

  it('exits with 79 when the store could not be reached for too long, also if the command ends well', async () => {
    const redis = freshPrefix()
    const proxy = await tcpProxy(Number(new URL(redis.url).port))
    atLast(() => proxy.close())
    const url = Object.assign(new URL(redis.url), { port: String(proxy.port) }).href
    const env = { HOLDFAST_STORE: url, HOLDFAST_PREFIX: redis.prefix, HOLDFAST_CALL_TIMEOUT: '200ms' }
    const script = 'trap "echo term; exit 0" TERM; echo ready; while :; do sleep 0.02; done'
    const command = run(['-l', '800ms', 'cut', '--', 'sh', '-c', script], env)
    await command.says(/ready/)
    proxy.freeze()
    await command.says(/term/)
    proxy.thaw()
    expect(await command.ended).toBe(79)
  })

  it('takes the command along when it is killed itself, also one that ignores SIGTERM', async () => {
    const heard = 'trap "echo heard" USR1'
    const kind = run(['killed', '--', 'sh', '-c', `${heard}; ${WITH_CHILD}; wait; wait`])
    const stubborn = run(['--grace', '10ms', 'killed too', '--', 'sh', '-c', `${heard}; ${STUBBORN}; wait`])
    const families = [...(await kind.family()), ...(await stubborn.family())]
    // A signal that is passed on shows that the watchdog knows whom to end: until then the command may be quicker.
    for (const one of [kind, stubborn]) {
      one.child.kill('SIGUSR1')
      await one.says(/heard/)
    }
    for (const { child } of [kind, stubborn]) child.kill('SIGKILL')
    await until('the end of the commands', () => living(families).length === 0)
  })
})

describe.concurrent('holdfast run at a terminal', () => {
  it('leaves the terminal to the command, which is interrupted once by its key', async () => {
    // Not a shell: it may miss an interrupt.
    const script = `
      process.on("SIGINT", () => console.log("int")).on("SIGUSR1", () => process.exit(4))
      process.stdin.once("data", (line) => {
        require("node:fs").writeFileSync("/dev/tty", "read " + line + process.ppid + " ready")
      })`
    const command = runAtTerminal(['typed', '--', process.execPath, '-e', script])
    await until('the command', () => locks.inspect('typed'))
    command.type('a word\n')
    const [, holdfast] = await command.says(/read a word\r\n(\d+) ready/)
    command.type('\u0003')
    await command.says(/int/)
    // Takes the way of an interrupt that is passed on, behind it.
    process.kill(Number(holdfast), 'SIGUSR1')
    expect(await command.ended).toBe(4)
    expect(command.out.match(/int\r/g)).toHaveLength(1)
  })

  it('ends the command and all that it has started when the lock is lost', async () => {
    const args = ['-l', '600ms', '--grace', '100ms', 'screen', '--', 'sh', '-c', STUBBORN]
    const command = runAtTerminal(args, 'echo ended $?; read line')
    const family = await command.family()
    await locks.forceRelease('screen')
    await command.says(/ended 79/)
    expect(living(family)).toEqual([])
    command.type('\n')
    await command.ended
  })
})

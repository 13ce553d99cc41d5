import { Writable } from 'node:stream'
import { afterEach, describe, expect, it } from 'vitest'
import { type Command, type Invocation, UsageError } from '../../src/cli/command.ts'
import { electCommand } from '../../src/cli/elect.ts'
import { runCommand } from '../../src/cli/run.ts'
import { Variables } from '../../src/config/variables.ts'
import { systemEnvironment } from '../../src/environment.ts'
import { createLocks, type Locks } from '../../src/locks.ts'
import type { LocksOptions } from '../../src/options.ts'
import type { Store } from '../../src/store.ts'
import { memoryStore } from '../../src/stores/memory.ts'

const clients: Locks[] = []
afterEach(async () => {
  for (const locks of clients.splice(0)) await locks.close()
})

function clientOf(store: Store, options: LocksOptions = {}): Locks {
  const locks = createLocks(store, { logger: null, ...options })
  clients.push(locks)
  return locks
}

function call(command: Command, args: readonly string[], store?: Store): Promise<number> {
  return told(command, args, () => {
    if (!store) throw new Error('no store is asked before the arguments are right')
    return clientOf(store)
  }).ended
}

function told(
  command: Command,
  args: readonly string[],
  client: () => Locks,
  isTTY = false,
): { ended: Promise<number>; lines: string[] } {
  const lines: string[] = []
  const err = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk))
      done()
    },
  })
  const openLocks: Invocation['openLocks'] = async () => client()
  const terminal = { out: err, err, isTTY, colour: false, columns: 80 }
  return { ended: command.run({ args, openLocks, terminal } as unknown as Invocation), lines }
}

/** Until a client of the command waits for the key. */
async function wanted(locks: Locks, key: string): Promise<void> {
  while (!(await locks.inspect(key))?.wanted) await new Promise((resolve) => setImmediate(resolve))
}

describe.each([
  ['run', runCommand],
  ['elect', electCommand],
])('holdfast %s', (_name, command) => {
  it.each([
    [[], 'give the command to run, behind --'],
    [['key'], 'give the command to run, behind --'],
    [['key', '--'], 'there is none behind --'],
    [['key', '--', ''], 'there is none behind --'],
    [['--', 'true'], 'give a '],
    [['key', 'true', '--', 'true'], "one argument too many: 'true'"],
    [['--wiat', '5s', 'key', '--', 'true'], "unknown option '--wiat'"],
    [['-l', 'soon', 'key', '--', 'true'], "--lease: 'soon' is not a duration; give seconds or a number with"],
    [['-l', '1ms', 'key', '--', 'true'], '--lease: '],
    [['--grace', '-1s', 'key', '--', 'true'], 'grace'],
    [['--grace', '1d', 'key', '--', 'true'], "--grace: '1d' is not a duration"],
  ])('says what is wrong with %j before it does anything', async (args, message) => {
    const failure = call(command, args)
    await expect(failure).rejects.toThrow(UsageError)
    await expect(failure).rejects.toThrow(message)
  })

  it('refuses a key that is none, and leaves no listener behind', async () => {
    const before = process.listenerCount('SIGTERM')
    await expect(call(command, ['', '--', 'true'], memoryStore())).rejects.toMatchObject({
      code: 'INVALID_LOCK_KEY',
    })
    expect(process.listenerCount('SIGTERM')).toBe(before)
  })

  it.each([
    ['SIGTERM', 143],
    ['SIGINT', 130],
    ['SIGHUP', 129],
    ['SIGQUIT', 131],
  ] as const)('gives up its wait on %s, and tells so by %i', async (signal, code) => {
    const store = memoryStore()
    const holder = clientOf(store)
    await holder.acquire('key')
    const ended = call(command, ['key', '--', 'false'], store)
    await wanted(holder, 'key')
    process.emit('SIGUSR1', 'SIGUSR1')
    process.emit(signal, signal)
    // The first one counts.
    process.emit('SIGTERM', 'SIGTERM')
    expect(await ended).toBe(code)
    expect(process.listenerCount(signal)).toBe(0)
  })
})

describe('holdfast run', () => {
  it.each([
    [
      true,
      '5ms',
      [/^holdfast: waiting for "key", held by \S+ \S+ \(nightly\)\n$/, /^holdfast: not run: .*held by/],
    ],
    [true, '0', [/^holdfast: not run: .*held by/]],
    [false, '5ms', []],
    [false, '0', []],
  ] as const)(
    'at a terminal (%s), with a wait of %s: says what it waits for',
    async (isTTY, wait, expected) => {
      const store = memoryStore()
      await clientOf(store).acquire('key', { context: 'nightly' })
      const { ended, lines } = told(
        runCommand,
        ['-w', wait, 'key', '--', 'false'],
        () => clientOf(store),
        isTTY,
      )
      expect(await ended).toBe(1)
      expect(lines).toEqual(expected.map((line) => expect.stringMatching(line)))
    },
  )

  it.each([
    [['-n', '-w', '5s', 'key', '--', 'true'], 'give either -n or -w'],
    [['-E', '256', 'key', '--', 'true'], '-E: give a whole number from 0 to 255'],
    [['-E', 'one', 'key', '--', 'true'], '-E: give a whole number from 0 to 255'],
    [['-w', 'Infinity', 'key', '--', 'true'], "--wait: 'Infinity' is not a duration"],
  ])('says what is wrong with %j', async (args, message) => {
    await expect(call(runCommand, args)).rejects.toThrow(message)
  })

  it.each([
    [['-n'], 1],
    [['-w', '0'], 1],
    [['-w', '0.02'], 1],
    [['-w', '20ms', '-E', '0'], 0],
    [['-nE', '42'], 42],
  ])('with %j ends by %i if another has the key', async (options, code) => {
    const store = memoryStore()
    await clientOf(store).acquire('key')
    expect(await call(runCommand, [...options, 'key', '--', 'false'], store)).toBe(code)
  })

  it('G2 does not start its command if the lock was lost before, and says so', async () => {
    let skippedMs = 0
    const environment = { ...systemEnvironment, now: () => performance.now() + skippedMs }
    const locks = clientOf(memoryStore(), { environment })
    // As if the process had stood still between the grant and the command.
    locks.on('granted', () => (skippedMs = 3_600_000))
    const { ended, lines } = told(runCommand, ['key', '--', '/nowhere/to/be/found'], () => locks)
    expect(await ended).toBe(79)
    expect(lines).toEqual([expect.stringMatching(/^holdfast: .*"key".*; the command was not started\n$/)])
  })

  it('says that its command may not have been alone only if there was one', async () => {
    const store = memoryStore()
    const other = clientOf(store)
    for (const [file, says] of [
      ['/nowhere/to/be/found', 'the command was not started'],
      ['true', 'the command may not have been alone'],
    ] as const) {
      const locks = clientOf(store)
      locks.on('granted', () => void other.forceRelease('key'))
      const { ended, lines } = told(runCommand, ['key', '--', file], () => locks)
      expect(await ended).toBe(79)
      expect(lines.at(-1)).toContain(says)
    }
  })

  it('gives its command no variable that the configuration of that command would refuse', () => {
    expect(() => new Variables({ HOLDFAST_KEY: 'key', HOLDFAST_TOKEN: '7' })).not.toThrow()
  })
})

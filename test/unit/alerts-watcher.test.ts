import { readFileSync } from 'node:fs'
import { inspect } from 'node:util'
import { describe, expect, it, vi } from 'vitest'
import { alertsOf, watchLocks } from '../../src/alerts/index.ts'
import { checkLimits, LIMIT_OF } from '../../src/alerts/limits.ts'
import { ALL_OFF, watched } from './support/alerts.ts'
import { track, world } from './support/world.ts'

const SECRET = 'a secret of the webhook'

describe('a watcher', () => {
  it('has a default for each limit, and each can be switched off', async () => {
    const { time, locks } = world()
    const kinds: string[] = []
    locks.on('alert', ({ kind }) => kinds.push(kind))
    const watcher = watchLocks(locks, { environment: time })
    await locks.acquire('k')
    await time.advance(310_000)
    expect(kinds).toEqual(['held-too-long'])
    watcher.configure({ ...ALL_OFF })
    expect(kinds).toHaveLength(2)
    await time.advance(60_000)
    expect(kinds).toHaveLength(2)
    await locks.close()
  })

  it('takes other limits at once, and ends what is not watched any more', async () => {
    const { time, locks, watcher, alerts, heard } = watched({ heldTooLong: '10s' })
    await locks.acquire('k')
    await time.advance(20_000)
    watcher.configure({ ...ALL_OFF, lost: 1 })
    expect(heard()).toEqual(['held-too-long on k', 'held-too-long over k'])
    expect(alerts[1]!.message).toMatch(/^not watched now, over after 10 s: /)
    watcher.configure({ ...ALL_OFF, heldTooLong: '15s' })
    await time.advance(5000)
    expect(heard()).toHaveLength(3)
    expect(() => watcher.configure({ heldTooLong: 'soon' as never })).toThrow(/on.heldTooLong/)
    await locks.close()
  })

  it('ends with the client, says that every incident is over, and leaves no timer', async () => {
    const { time, locks, watcher, heard } = watched({ heldTooLong: '10s' })
    await locks.acquire('k')
    await time.advance(20_000)
    expect(alertsOf(locks)).toEqual(watcher.alerts)
    expect(alertsOf(locks)).toHaveLength(1)
    await locks.close()
    expect(heard()).toEqual(['held-too-long on k', 'held-too-long over k'])
    expect([alertsOf(locks), watcher.alerts]).toEqual([[], []])
    expect(time.timers).toBe(0)
    expect(() => watchLocks(locks)).toThrow(expect.objectContaining({ code: 'CLOSED' }))
    expect(() => watcher.configure({ lost: 5 })).not.toThrow()
    await watcher.stop()
  })

  it('says nothing after it was stopped, and the client goes on', async () => {
    const { time, locks, watcher, heard } = watched({ heldTooLong: '10s' })
    await watcher.stop()
    await watcher.stop()
    await locks.acquire('k')
    await time.advance(60_000)
    expect(heard()).toEqual([])
    await locks.close()
    expect(time.timers).toBe(0)
  })

  it('is told of in the log: a warning when it begins, a line when it is over', async () => {
    const lines: string[] = []
    const logger = {
      warn: (line: string) => void lines.push(`warn ${line}`),
      info: (line: string) => void lines.push(`info ${line}`),
    }
    const { time, locks } = watched({ heldTooLong: '10s' }, { logger })
    await (await locks.acquire('k').then(async (lease) => (await time.advance(20_000), lease))).release()
    await time.advance(5000)
    expect(lines).toEqual([
      'warn holdfast: "k" has been held for 10 s; the limit is 10 s',
      'info holdfast: over after 15 s: "k" has been held for 20 s; the limit is 10 s',
    ])
    await locks.close()
  })

  it('is not broken by a listener that throws or stops it', async () => {
    const { time, locks, watcher, heard } = watched({ heldTooLong: '10s' })
    locks.on('alert', () => {
      void watcher.stop()
      throw new Error('mine')
    })
    await locks.acquire('a')
    await locks.acquire('b')
    await time.advance(30_000)
    expect(heard().filter((line) => line.includes(' on '))).toHaveLength(heard().length / 2)
    await locks.close()
    expect(time.timers).toBe(0)
  })
})

it('held and waited too long are not told of elections, where it is meant', async () => {
  const { time, locks, other, heard } = watched({ heldTooLong: '10s', waitedTooLong: '10s' })
  locks.elect(
    'lead',
    ({ signal }) => new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve())),
  )
  await time.advance(100)
  const two = other()
  two.elect(
    'follow',
    ({ signal }) => new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve())),
  )
  await time.advance(100)
  locks.elect('follow', async () => {})
  await time.advance(120_000)
  expect([locks.stats().held, locks.stats().waiting, heard()]).toEqual([1, 1, []])
  await locks.acquire('k', { lease: '1h' })
  await time.advance(20_000)
  expect(heard()).toEqual(['held-too-long on k'])
  await two.close()
  await locks.close()
})

it('a webhook that hangs keeps no key from being given back when the client closes, and is waited for', async () => {
  const { time, locks, other } = world()
  const hang = (_: unknown, { signal }: RequestInit): Promise<Response> =>
    new Promise((_resolve, reject) => signal!.addEventListener('abort', () => reject(new Error('cut'))))
  vi.stubGlobal('fetch', vi.fn(hang))
  const webhook = { url: 'http://127.0.0.1:1', secret: 'a secret of some length' }
  watchLocks(locks, { on: { ...ALL_OFF, heldTooLong: '1s' }, every: '1s', webhook, environment: time })
  await locks.acquire('k')
  await time.advance(3000)
  const closing = track(locks.close())
  const next = track(other().acquire('k', { wait: '1m' }))
  await time.advance(1000)
  expect([next.settled, closing.settled]).toEqual([true, false])
  await time.advance(5000)
  expect(closing.settled).toBe(true)
  vi.unstubAllGlobals()
})

it('docs/alerts.md has each limit with its kind and its default', () => {
  const docs = readFileSync(new URL('../../docs/alerts.md', import.meta.url), 'utf8')
  const defaults = checkLimits({})
  for (const [kind, name] of Object.entries(LIMIT_OF)) {
    const [, shown = ''] = new RegExp(`^\\| \`${name}\` \\| \`${kind}\` \\| (.*?) \\|`, 'm').exec(docs) ?? []
    const value = /^`(\d\w+)`$|^(\d+)$/.exec(shown)
    if (value) expect(checkLimits({ [name]: value[1] ?? Number(value[2]) })[name]).toEqual(defaults[name])
    else expect([name, shown]).toEqual(['failureRate', '`{ share: 0.5, least: 20 }`'])
  }
  expect(defaults.failureRate).toEqual({ share: 0.5, least: 20 })
})

describe('watchLocks refuses', () => {
  it.each([
    [{ on: { heldTooLong: 10 } }, /on\.heldTooLong: 10 is too short/],
    [{ on: { tokenJump: '1s' } }, /on\.tokenJump/],
    [{ on: { heldTolong: '1m' } }, /unknown option 'heldTolong'/],
    [{ on: { failureRate: 0.5 } }, /on\.failureRate: options must be an object/],
    [{ on: { failureRate: { share: 2 } } }, /failureRate\.share: give a number above 0 and up to 1/],
    [{ on: { failureRate: { least: 0 } } }, /failureRate\.least: give a whole number/],
    [{ on: { lost: 0.5 } }, /on\.lost: give a whole number/],
    [{ on: { conflicts: true } }, /on\.conflicts: give a whole number/],
    [{ on: null }, /on: options must be an object/],
    [{ every: 10 }, /every: 10 is too short/],
    [{ every: '2m' }, /every: give at most 1m/],
    [{ limits: {} }, /unknown option 'limits'/],
    [{ webhook: 'https://x' }, /webhook: options must be an object/],
    [{ webhook: { url: 'ftp://x', secret: SECRET } }, /webhook\.url: give an http or https URL/],
    [{ webhook: { url: 'https://me:pass@host/', secret: SECRET } }, /without a user and a password/],
    [{ webhook: { url: 'https://host/' } }, /webhook\.secret: give a text of 16/],
    [{ webhook: { url: 'https://host/', secret: 'short' } }, /webhook\.secret/],
  ])('%j', async (options, message) => {
    const { time, locks } = world()
    try {
      watchLocks(locks, { ...options, environment: time } as never)
      expect.unreachable()
    } catch (error) {
      expect(error).toMatchObject({
        code: 'INVALID_OPTION',
        message: expect.stringMatching(message) as string,
      })
      expect((error as Error).message).not.toMatch(/pass@|secret of the/)
    }
    expect(time.timers).toBe(0)
    await locks.close()
  })

  it('what is no client', () => {
    expect(() => watchLocks({} as never)).toThrow(/createLocks/)
    expect(() => watchLocks(null as never)).toThrow(/createLocks/)
  })

  it('to show its secret', async () => {
    const { time, locks } = world()
    const webhook = { url: 'https://127.0.0.1:9/path', secret: SECRET }
    const watcher = watchLocks(locks, { webhook, environment: time })
    expect(inspect(watcher, { depth: 9, showHidden: true })).not.toMatch(/secret of|9\/path/)
    expect(JSON.stringify(watcher)).not.toContain('secret of')
    await locks.close()
  })
})

import { describe, expect, it } from 'vitest'
import { inspectCommand } from '../../src/cli/inspect.ts'
import { listCommand } from '../../src/cli/list.ts'
import { readRecords } from '../../src/cli/records.ts'
import { releaseCommand } from '../../src/cli/release.ts'
import { width } from '../../src/cli/text.ts'
import { watchRecords } from '../../src/cli/watch.ts'
import { LockError } from '../../src/errors.ts'
import { Paper, stage } from './support/cli-stage.ts'

/** A key cannot have a control character in it, but one that turns the line around. */
const HOSTILE = 'pay\u{202e}ment'

describe('list', () => {
  it('shows who holds what, one line a key', async () => {
    const { locks, run } = stage()
    await locks.acquire('b', { context: 'nightly' })
    const { token } = await locks.acquire('a')
    const { code, out } = await run(listCommand, [])
    const [titles, first, second, ...rest] = out.trimEnd().split('\n')
    expect(code).toBe(0)
    expect(titles).toMatch(/^KEY +SERVICE +INSTANCE +HELD +LEFT +TOKEN +WANTED +CONTEXT$/)
    expect(first).toMatch(new RegExp(`^a +shop +till-1 +0.\\ds +30s +${token}$`))
    expect(second).toMatch(/^b .* nightly$/)
    expect(rest).toEqual([])
  })

  it('says so if no key is held', async () => {
    expect(await stage().run(listCommand, [])).toEqual({ code: 0, out: 'no key is held\n', err: '' })
  })

  it('reads all pages', async () => {
    const { locks, run } = stage()
    const keys = Array.from({ length: 2100 }, (_, index) => `key-${String(index).padStart(4, '0')}`)
    for (let from = 0; from < keys.length; from += 1000) await locks.acquire(keys.slice(from, from + 1000))
    const { out } = await run(listCommand, ['--json'])
    expect(JSON.parse(out).map(({ key }: { key: string }) => key)).toEqual(keys)
  })

  it('can be limited to a prefix', async () => {
    const { locks, run } = stage()
    await locks.acquire(['job:1', 'job:2', 'other'])
    const { out } = await run(listCommand, ['--prefix', 'job:', '--json'])
    expect(JSON.parse(out)).toMatchObject([{ key: 'job:1' }, { key: 'job:2' }])
  })

  it('prints no escape sequence that came with a key, a name or a context', async () => {
    const { locks, run } = stage()
    await locks.acquire(HOSTILE, { context: '\u{1b}]0;title\u{7}\u{9b}31m' })
    for (const args of [[], ['--json']]) {
      const { out } = await run(listCommand, args)
      expect(out).toMatch(/^[\x20-\x7e\n]*$/)
    }
  })

  it('fits into the terminal', async () => {
    const { locks, run } = stage()
    await locks.acquire('k'.repeat(150), { context: 'c'.repeat(300) })
    const { out } = await run(listCommand, [], { isTTY: true, columns: 80 })
    for (const line of out.trimEnd().split('\n')) expect(width(line)).toBeLessThanOrEqual(80)
  })

  it('has colours only where they are wanted', async () => {
    const { locks, run } = stage()
    await locks.acquire('a')
    expect((await run(listCommand, [], { isTTY: true, columns: 80 })).out).not.toContain('\u{1b}')
    expect((await run(listCommand, [], { isTTY: true, columns: 80, colour: true })).out).toContain(
      '\u{1b}[1m',
    )
  })
})

describe('list --watch', () => {
  const down = new LockError('STORE_UNAVAILABLE', 'the memory store failed: it is down')

  /** One step for each look after the first. */
  async function watched(paper: Paper, asJson: boolean, steps: (() => Promise<unknown>)[]): Promise<void> {
    const { openLocks } = scene
    const client = await openLocks()
    let failure: LockError | null = null
    await watchRecords({
      read: () => (failure ? Promise.reject(failure) : readRecords(client, undefined)),
      terminal: paper.terminal,
      asJson,
      pause: async () => {
        const step = steps.shift()
        failure = (await step?.()) === down ? down : null
        return step !== undefined
      },
    })
  }
  let scene = stage()

  it('prints each change once where there is no terminal', async () => {
    scene = stage()
    const { locks } = scene
    const first = await locks.acquire('a')
    const paper = new Paper()
    await watched(paper, true, [
      async () => {},
      () => locks.acquire('b'),
      () => first.release(),
      () => locks.acquire('a'),
    ])
    const lines = paper.out.trimEnd().split('\n')
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { change: 'held', key: 'a', token: String(first.token) },
      { change: 'held', key: 'b', service: 'shop' },
      { change: 'freed', key: 'a' },
      { change: 'held', key: 'a' },
    ])
  })

  it('goes on after an outage, which it reports once', async () => {
    scene = stage()
    const { locks } = scene
    const paper = new Paper()
    await watched(paper, false, [async () => down, async () => down, () => locks.acquire('a')])
    expect(paper.out).toMatch(/^\S+ held {2}a by shop till-1 token \d+\n$/)
    expect(paper.err).toBe(
      'holdfast: the memory store failed: it is down (STORE_UNAVAILABLE); it is asked again\n',
    )
  })

  it('draws over itself on a terminal, and nothing past its last line', async () => {
    scene = stage()
    const { locks } = scene
    await locks.acquire(Array.from({ length: 100 }, (_, index) => `key-${index}`))
    const paper = new Paper({ isTTY: true, columns: 60 })
    Object.assign(paper.terminal.out, { columns: 60, rows: 10 })
    await watched(paper, false, [async () => down])
    const [, ...drawings] = paper.out.split('\u{1b}[H')
    expect(drawings).toHaveLength(2)
    for (const drawing of drawings) {
      expect(drawing.split('\n')).toHaveLength(10)
      expect(drawing.endsWith('… and 95 more; see --prefix\u{1b}[K\n\u{1b}[J')).toBe(true)
    }
    expect(drawings[1]).toContain('it is down')
  })

  it('fails at once if the store does not answer the first time', async () => {
    const plan = { read: () => Promise.reject(down), terminal: new Paper().terminal, asJson: false }
    await expect(watchRecords(plan)).rejects.toBe(down)
  })
})

describe('inspect', () => {
  it('shows the holder, and exits with 1 if there is none', async () => {
    const { locks, run } = stage()
    const { token } = await locks.acquire(HOSTILE, { context: 'why' })
    const held = await run(inspectCommand, [HOSTILE])
    expect(held.code).toBe(0)
    expect(held.out).toContain('pay\\u{202e}ment')
    expect(held.out).toMatch(new RegExp(`context +why\\n[^]*token +${token}\\n`))
    expect(await run(inspectCommand, ['free'])).toEqual({ code: 1, out: 'free is held by nobody\n', err: '' })
  })

  it('speaks JSON: an object or null', async () => {
    const { locks, run } = stage()
    await locks.acquire('a')
    expect(JSON.parse((await run(inspectCommand, ['a', '--json'])).out)).toMatchObject({
      key: 'a',
      service: 'shop',
      instance: 'till-1',
      wanted: false,
    })
    expect(await run(inspectCommand, ['--json', 'free'])).toMatchObject({ code: 1, out: 'null\n' })
  })

  it('takes one key, and one that begins with - behind --', async () => {
    const { locks, run } = stage()
    await locks.acquire('-a')
    expect(await run(inspectCommand, ['--', '-a'])).toMatchObject({ code: 0 })
    await expect(run(inspectCommand, [])).rejects.toThrow('give a KEY')
    await expect(run(inspectCommand, ['a', 'b'])).rejects.toThrow("one argument too many: 'b'")
  })
})

describe('release', () => {
  it('does nothing without --force', async () => {
    const { locks, run } = stage()
    await locks.acquire('a')
    await expect(run(releaseCommand, ['a'])).rejects.toThrow('add --force')
    expect(await locks.inspect('a')).not.toBeNull()
  })

  it('frees the key and says whose it was', async () => {
    const { locks, run } = stage()
    await locks.acquire('a')
    const { grant } = (await locks.inspect('a'))!
    const { code, out } = await run(releaseCommand, ['a', '--force'])
    expect([code, out]).toEqual([0, `freed a, which shop till-1 held (grant ${grant})\n`])
    expect(await locks.inspect('a')).toBeNull()
    expect(await run(releaseCommand, ['a', '--force'])).toMatchObject({
      code: 1,
      err: 'holdfast: nothing was freed: a: nobody holds it\n',
    })
  })

  it('with --grant leaves a later grant alone', async () => {
    const { locks, run } = stage()
    const first = await locks.acquire('a')
    const old = (await locks.inspect('a'))!.grant
    await first.release()
    await locks.acquire('a')
    const now = (await locks.inspect('a'))!.grant
    expect(await run(releaseCommand, ['a', '--force', '--grant', String(old)])).toMatchObject({
      code: 1,
      err: `holdfast: nothing was freed: a: it is held under grant ${now}, not ${old}\n`,
    })
    expect(await run(releaseCommand, ['a', '--force', '--grant', String(now)])).toMatchObject({ code: 0 })
  })

  it.each(['0', '-1', '1.5', 'x', '', '9007199254740993'])('refuses %j as a grant', async (grant) => {
    await expect(stage().run(releaseCommand, ['a', '--force', `--grant=${grant}`])).rejects.toThrow(
      '--grant: give a whole number',
    )
  })
})

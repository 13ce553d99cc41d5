import { afterEach, describe, expect, it, vi } from 'vitest'
import type { LockServerOptions } from '../../src/server/index.ts'
import { type Problem, serverStage } from './support/server-stage.ts'

const from = (remoteAddress: string): object => ({ incoming: { socket: { remoteAddress } } })

describe('the audit', () => {
  afterEach(() => void vi.restoreAllMocks())

  it('is written before and after each forced release, also of one that frees nothing', async () => {
    const { locks, ask, audited } = serverStage()
    await locks.acquire('a')
    const { grant } = (await locks.inspect('a'))!
    const free = (search: string): Promise<{ status: number }> =>
      ask(`/api/locks/a?${search}`, { method: 'DELETE', env: from('127.0.0.1') })
    await free(`grant=${grant - 1}&why=stuck`)
    await free(`grant=${grant}&why=${encodeURIComponent('卡住了')}`)
    await free(`grant=${grant}`)
    expect(audited.map(({ why, outcome }) => [why, outcome])).toEqual([
      ['stuck', 'asked'],
      ['stuck', 'moved-on'],
      ['卡住了', 'asked'],
      ['卡住了', 'released'],
      [null, 'asked'],
      [null, 'not-held'],
    ])
    expect(audited[2]).toMatchObject({
      who: 'token',
      peer: '127.0.0.1',
      key: 'a',
      grant,
      action: 'force-release',
    })
    expect(audited[2]?.at).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
    expect(audited[2]?.id).toBe(audited[3]?.id)
    expect(new Set(audited.map(({ id }) => id)).size).toBe(3)
  })

  it('says so if the store did not answer, and it may have happened', async () => {
    const { locks, ask, audited, store, time } = serverStage()
    await locks.acquire('a')
    store.mood.evict = 'lose reply'
    const asked = ask('/api/locks/a?grant=1', { method: 'DELETE' })
    await time.advance(4000)
    expect(await asked).toMatchObject({ status: 503, body: { code: 'STORE_UNAVAILABLE' } })
    expect(audited.map(({ outcome }) => outcome)).toEqual(['asked', 'unknown'])
  })

  it.each<[string, NonNullable<LockServerOptions['audit']>]>([
    [
      'throws',
      () => {
        throw new Error('disk full')
      },
    ],
    ['rejects', () => Promise.reject(new Error('disk full'))],
    ['hangs', () => new Promise(() => {})],
  ])('that %s keeps the key from being freed', async (_, audit) => {
    const { locks, ask, time } = serverStage({ audit })
    await locks.acquire('a')
    const { grant } = (await locks.inspect('a'))!
    const errors: string[] = []
    locks.on('error', ({ error }) => errors.push(error.message))
    const asked = ask<Problem>(`/api/locks/a?grant=${grant}`, { method: 'DELETE' })
    await time.advance(6000)
    const { status, body } = await asked
    expect([status, body.code]).toEqual([503, 'AUDIT_FAILED'])
    expect(body.detail).not.toContain('disk')
    expect(errors).toHaveLength(1)
    expect(await locks.inspect('a')).not.toBeNull()
  })

  it('refuses a reason that is too long or would break its lines', async () => {
    const { locks, ask, audited } = serverStage()
    await locks.acquire('a')
    const { grant } = (await locks.inspect('a'))!
    for (const why of ['x'.repeat(501), 'a\nb', '\u{1b}[2J', 'a\0'])
      expect(
        await ask(`/api/locks/a?grant=${grant}&why=${encodeURIComponent(why)}`, { method: 'DELETE' }),
      ).toMatchObject({ status: 400 })
    expect(audited).toEqual([])
    expect(await locks.inspect('a')).not.toBeNull()
  })

  it('is a line of JSON on stderr if nothing else is given', async () => {
    const lines: string[] = []
    vi.spyOn(console, 'error').mockImplementation((line: string) => void lines.push(line))
    const { locks, ask } = serverStage({ audit: undefined })
    await locks.acquire('a')
    const { grant } = (await locks.inspect('a'))!
    await ask(`/api/locks/a?grant=${grant}`, { method: 'DELETE' })
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { holdfast: 'audit', outcome: 'asked', key: 'a' },
      { holdfast: 'audit', outcome: 'released', key: 'a' },
    ])
  })
})

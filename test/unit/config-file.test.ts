import { mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { News } from '../../src/config/feed.ts'
import { FileFeed } from '../../src/config/file-feed.ts'
import { file, folder } from './support/config.ts'
import { VirtualTime } from './support/virtual-time.ts'

const open: FileFeed[] = []
afterEach(async () => {
  for (const feed of open.splice(0)) await feed.close()
})

interface Watched {
  readonly feed: FileFeed
  readonly time: VirtualTime
  readonly news: News[]
  /** Looks again and again for so long. Files are read in real time, while the other stands still. */
  pass(ms: number): Promise<void>
}

async function watched(path: string): Promise<Watched> {
  const time = new VirtualTime()
  const feed = new FileFeed(path, time)
  open.push(feed)
  await feed.first()
  const news: News[] = []
  feed.follow((each) => {
    news.push(each)
    return Promise.resolve()
  })
  const read = (): Promise<void> => vi.waitFor(() => expect(time.timers).toBe(1), { interval: 1 })
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 50) {
      await time.advance(50)
      await read()
    }
  }
  await pass(50)
  return { feed, time, news, pass }
}

describe('a file that changes', () => {
  it('is told once it has stayed the same for a moment, and not while it is being written', async () => {
    const path = file('written.json', '{"lease":1000}')
    const { pass, news } = await watched(path)
    const text = '{"lease":2000,"wait":1000}'
    for (let end = 0; end < text.length; end += 3) {
      writeFileSync(path, text.slice(0, end))
      await pass(100)
    }
    writeFileSync(path, text)
    expect(news).toEqual([])
    await pass(400)
    expect(news).toEqual([{ value: { lease: 2000, wait: 1000 } }])
  })

  it('and changes back is not told', async () => {
    const path = file('back.json', '{"lease":1000}')
    const { pass, news } = await watched(path)
    writeFileSync(path, '{"lease":2000}')
    await pass(100)
    writeFileSync(path, '{"lease":1000}')
    await pass(6000)
    expect(news).toEqual([])
  })

  it('to what cannot be read is told once, and then what can', async () => {
    const path = file('broken.yaml', 'lease: 1s')
    const { pass, news } = await watched(path)
    writeFileSync(path, 'lease: [1s')
    await pass(12_000)
    expect(news).toEqual([{ error: expect.objectContaining({ code: 'INVALID_OPTION' }) }])
    writeFileSync(path, 'lease: 2s')
    await pass(400)
    expect(news.at(-1)).toEqual({ value: { lease: '2s' } })
    expect(news).toHaveLength(2)
  })

  it.each([
    ['gone', (path: string) => unlinkSync(path), 'there is no such file'],
    ['empty', (path: string) => writeFileSync(path, ''), 'it is empty'],
  ])('and is %s for a moment is not told, for longer it is', async (what, change, message) => {
    const path = file(`${what}.json`, '{"lease":1000}')
    const { pass, news } = await watched(path)
    change(path)
    await pass(1800)
    expect(news).toEqual([])
    writeFileSync(path, '{"lease":2000}')
    await pass(400)
    expect(news).toEqual([{ value: { lease: 2000 } }])
    change(path)
    await pass(3000)
    expect(news.at(-1)).toEqual({
      error: expect.objectContaining({ message: expect.stringContaining(message) }),
    })
    writeFileSync(path, '{"lease":2000}')
    await pass(6000)
    expect(news.at(-1)).toEqual({ value: { lease: 2000 } })
    expect(news).toHaveLength(3)
  })

  it('behind a link into another folder is found by the poll', async () => {
    mkdirSync(join(folder, 'elsewhere'))
    const target = file('elsewhere/target.json', '{"lease":1000}')
    const path = join(folder, 'link.json')
    symlinkSync(target, path)
    const { pass, news } = await watched(path)
    writeFileSync(target, '{"lease":2000}')
    await pass(5500)
    expect(news).toEqual([{ value: { lease: 2000 } }])
  })

  it('in a folder that was replaced is found by the poll', async () => {
    mkdirSync(join(folder, 'one'))
    mkdirSync(join(folder, 'two'))
    const path = file('one/config.json', '{"lease":1000}')
    file('two/config.json', '{"lease":2000}')
    const { pass, news } = await watched(path)
    rmSync(join(folder, 'one'), { recursive: true })
    renameSync(join(folder, 'two'), join(folder, 'one'))
    await pass(5500)
    expect(news).toEqual([{ value: { lease: 2000 } }])
  })

  it('is looked at no more when it is closed', async () => {
    const path = file('closed.json', '{"lease":1000}')
    const { feed, time, news } = await watched(path)
    await feed.close()
    writeFileSync(path, '{"lease":2000}')
    await time.advance(20_000)
    expect(time.timers).toBe(0)
    expect(news).toEqual([])
  })
})

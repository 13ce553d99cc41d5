/**
 * `npm start`: four worker processes contend for keys in one SQLite file, and one is killed while it
 * holds. This process only watches. On a terminal it shows a live table until q, Ctrl-C or a minute
 * has passed; elsewhere it prints the story once and ends, with exit code 1 if anything went wrong.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLocks } from '../../src/index.ts'
import { board, seconds } from './board.ts'
import { Crew } from './crew.ts'
import { counterFile, KEYS, WORKERS } from './plan.ts'
import { quitting } from './quit.ts'
import { Lines, type Screen, Terminal } from './screen.ts'
import { heard, killAndTakeOver, type Stage, start, Unexpected } from './story.ts'

const REDRAW_MS = 100
const LIVE_MS = 60_000

const began = performance.now()
const live = process.stdout.isTTY
const quit = quitting(live ? LIVE_MS : Infinity)
const folder = mkdtempSync(join(tmpdir(), 'holdfast-demo-'))
const file = join(folder, 'locks.db')
for (const key of KEYS) writeFileSync(counterFile(folder, key), '0')

const locks = createLocks(`sqlite:${file}`, { service: 'demo', instance: 'viewer', logger: null })
const title = 'holdfast: four processes, three keys, one SQLite file'
const screen: Screen = live ? new Terminal(`${title} (q ends it)`) : new Lines()
if (!live) screen.tell(title)

let done = 0
const crew = new Crew(file, (worker, report) => {
  if (report.is === 'done') done += 1
  heard(stage, worker, report)
})
const stage: Stage = {
  crew,
  locks,
  takeOvers: new Map(),
  quit: quit.signal,
  tell: (line, tone) => screen.tell(`${seconds(performance.now() - began).padStart(7)}  ${line}`, tone),
  show: async () => {
    const page = await locks.list()
    screen.show(board(crew, page.locks, stage.takeOvers, process.stdout.columns ?? Infinity))
  },
}

async function perform(): Promise<void> {
  await start(stage)
  for (let round = 1; round === 1 || live; round += 1) {
    const victim = crew.alive.find((worker) => worker.number === 1 + (round % WORKERS))
    if (!victim) throw new Unexpected('a worker ended that nobody killed')
    await killAndTakeOver(stage, victim)
  }
}

/** Ends the workers; what they leave behind must be nothing but the counters, and those right. */
async function tidyUp(): Promise<void> {
  const unwell = await crew.stop()
  const { locks: held } = await locks.list()
  const counted = KEYS.reduce((sum, key) => sum + Number(readFileSync(counterFile(folder, key), 'utf8')), 0)
  await stage.show()
  const [name] = unwell.map((worker) => worker.name)
  if (name) throw new Unexpected(`${name} did not end when it was told to`)
  // A viewer who quits may do so before the lease of a killed worker has run out.
  const isDead = (instance: string): boolean => crew.called(instance)?.dismissed === 'killed'
  if (!held.every(({ holder }) => isDead(holder.instance))) throw new Unexpected('a key is left held')
  const left = held.length === 0 ? 'no key is left held' : 'only the key of a killed one is left, to run out'
  stage.tell(`all workers have ended, and ${left}`)
  const counts = `${done} sections were finished, and the counters say ${counted}`
  if (counted !== done) throw new Unexpected(counts)
  stage.tell(`${counts}: no two were ever inside at once`)
}

const redraw = live ? setInterval(() => void stage.show().catch(() => undefined), REDRAW_MS) : undefined
try {
  await perform().catch((error: unknown) => {
    if (!quit.signal.aborted) throw error
  })
  clearInterval(redraw)
  await tidyUp()
} catch (error) {
  process.exitCode = 1
  if (!(error instanceof Unexpected)) throw error
  stage.tell(`that was not expected: ${error.message}`, 'bad')
} finally {
  clearInterval(redraw)
  await crew.stop()
  await locks.close()
  rmSync(folder, { recursive: true, force: true })
  screen.close()
  quit.close()
  process.exitCode = process.exitCode || quit.exitCode
}

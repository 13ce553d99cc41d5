/**
 * One writer among five processes. The leader is killed; the next one is paused for longer than its lease and goes on,
 * with a write in hand; the next one resigns. Each line of the log has the token of the term it was written in, and the
 * log refuses a token that is older than one it has seen.
 *
 *     npx tsx examples/election/index.ts
 *
 * It works in a temporary folder, and removes it. Exit code 1 if the tokens in the log do not rise.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import Database from 'libsql'
import { fence } from '../../src/fence/index.ts'
import type { Order, Word } from './writer.ts'

interface Line {
  readonly writer: string
  readonly token: string
}

const WRITER = fileURLToPath(new URL('./writer.ts', import.meta.url))
const COUNT = 5
const LIMIT_MS = 15_000

const folder = mkdtempSync(join(tmpdir(), 'holdfast-election-'))
const db = new Database(join(folder, 'log.db'))
db.exec('pragma journal_mode = wal; create table log (writer text not null, token text not null)')
await fence(db).open()

const said: [ChildProcess, Word][] = []
let wake = (): void => {}

function startWriter(_: unknown, i: number): ChildProcess {
  const execArgv = ['--disable-warning=ExperimentalWarning', '--import', import.meta.resolve('tsx')]
  const writer = fork(WRITER, [folder, `process ${i + 1}`], { execArgv })
  writer.on('message', (word: Word) => {
    said.push([writer, word])
    wake()
  })
  return writer
}

/** The next one to say so, in the order in which they are heard. */
async function whoSays(
  word: Word,
  from: (writer: ChildProcess) => boolean = () => true,
): Promise<ChildProcess> {
  for (;;) {
    for (let next = said.shift(); next; next = said.shift()) {
      const [writer, heard] = next
      if (heard === word && from(writer)) return writer
    }
    await new Promise<void>((resolve) => (wake = resolve))
  }
}

const start = performance.now()
function tell(text: string): void {
  console.log(`${((performance.now() - start) / 1000).toFixed(1).padStart(5)} s  ${text}`)
}

const writers = Array.from({ length: COUNT }, startWriter)
const nameOf = (writer: ChildProcess): string => `process ${writers.indexOf(writer) + 1}`
const order = (writer: ChildProcess, what: Order): boolean => writer.send(what)

async function story(): Promise<void> {
  for (let ready = 0; ready < COUNT; ready += 1) await whoSays('ready')
  // A busy machine may need long to start them.
  limit.refresh()
  tell(`${COUNT} processes stand for election`)
  for (const writer of writers) order(writer, 'stand')

  const first = await whoSays('leads')
  tell(`${nameOf(first)} leads, and writes`)
  await whoSays('wrote')
  first.kill('SIGKILL')
  tell(`${nameOf(first)} is killed`)

  const second = await whoSays('leads')
  tell(`${nameOf(second)} leads, and writes`)
  await whoSays('wrote', (writer) => writer === second)
  order(second, 'pause')
  await whoSays('paused', (writer) => writer === second)
  tell(`${nameOf(second)} is paused with a line in hand, for longer than its lease`)

  const third = await whoSays('leads', (writer) => writer !== second)
  tell(`${nameOf(third)} leads, and writes`)
  await whoSays('wrote', (writer) => writer === third)
  second.kill('SIGCONT')
  await whoSays('refused', (writer) => writer === second)
  tell(`${nameOf(second)} goes on, writes its line, and is refused`)

  const resigned = performance.now()
  order(third, 'resign')
  const fourth = await whoSays('leads')
  const tookMs = Math.round(performance.now() - resigned)
  tell(
    `${nameOf(third)} resigns; ${nameOf(fourth)} leads ${tookMs} ms later, most of which was the last write`,
  )
  await whoSays('wrote', (writer) => writer === fourth)
  await Promise.all(
    writers
      .filter((writer) => writer !== first)
      .map((writer) => (order(writer, 'stop'), once(writer, 'exit'))),
  )
}

/** Whether the tokens rise from each term to the next, and no term comes back. */
function check(): boolean {
  const lines = db.prepare('select writer, token from log order by rowid').all() as Line[]
  const terms = lines.filter(({ token }, i) => token !== lines[i - 1]?.token)
  for (const { writer, token } of terms) {
    const count = lines.filter((line) => line.token === token).length
    console.log(`         token ${token}: ${count} lines by ${writer}`)
  }
  return (
    terms.length >= 4 &&
    terms.every(({ token }, i) => i === 0 || BigInt(token) > BigInt(terms[i - 1]?.token ?? 0))
  )
}

const limit = setTimeout(() => {
  tell(`not done after ${LIMIT_MS} ms`)
  end(1)
}, LIMIT_MS)
process.once('SIGINT', () => end(1))

function end(code: number): void {
  clearTimeout(limit)
  // Also one that is paused, which no other signal would end.
  for (const writer of writers) writer.kill('SIGKILL')
  db.close()
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 })
  process.exit(code)
}

try {
  await story()
  tell('all have stopped. The log:')
  const rising = check()
  console.log(rising ? '         the tokens rise' : '         THE TOKENS DO NOT RISE')
  end(rising ? 0 : 1)
} catch (error) {
  console.error(error)
  end(1)
}

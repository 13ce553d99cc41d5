/** Plays of one trial by one library, in a process of their own; `cast.ts` starts it and hears what was seen. */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { contender, type Name } from './contenders.ts'
import { errorText, settles } from './facts.ts'
import type { Access, Library } from './library.ts'
import type { Facts, Scene, Stage } from './trial.ts'
import { TRIALS } from './trials.ts'

/** One more play, on the servers of these URLs. */
export interface Order {
  readonly url: string
  readonly besideUrl: string
}

export interface Answer {
  readonly id: number
  readonly value?: unknown
  readonly error?: string
}

/** A method of the stage to call. */
export interface Question {
  readonly id: number
  readonly method: keyof Stage
  readonly args: readonly unknown[]
}

const CLOSE_LIMIT_MS = 2_000

const [id = '', name = ''] = process.argv.slice(2)
const trial = TRIALS.find((each) => each.id === id)
if (!trial) throw new Error(`no trial ${id}`)
const played = contender(name as Name)
const cluster = trial.kind === 'redis-cluster'

const waiting = new Map<number, (answer: Answer) => void>()
process.on('message', (message: Answer | Order) => {
  if ('id' in message) waiting.get(message.id)?.(message)
  else void play(message)
})
// Nothing of it may outlive who asked for it.
process.once('disconnect', () => {
  if (trial.lingers) setTimeout(() => process.exit(), trial.limitMs).unref()
  else process.exit()
})
process.send?.('ready')

/** Each call of a method is done by the parent. */
const stage = new Proxy({} as Stage, {
  get: (_target, method) =>
    typeof method === 'string' ? (...args: unknown[]) => ask(method, args) : undefined,
})

function ask(method: string, args: unknown[]): Promise<unknown> {
  const question = waiting.size
  return new Promise((resolve, reject) => {
    waiting.set(question, ({ value, error }) =>
      error === undefined ? resolve(value) : reject(new Error(error)),
    )
    process.send?.({ id: question, method, args })
  })
}

async function play({ url, besideUrl }: Order): Promise<void> {
  const opened: Library[] = []
  const open = async (access: Access): Promise<Library> => {
    const library = await played.open({ cluster, ...access })
    opened.push(library)
    return library
  }
  const scene: Scene = {
    contender: played,
    key: `trial-${randomBytes(4).toString('hex')}`,
    stage,
    urls: besideUrl.split(','),
    open: (more) => open({ url, ...more }),
    openBeside: () => open({ url: besideUrl }),
  }
  // A play that rejects was not played as it is written. What a library throws elsewhere ends the process.
  const facts = await trial!.play(scene).catch((error: unknown) => ({ notPlayed: errorText(error) }))
  if (!trial!.lingers && !played.oneRun) await closeAll(opened)
  process.send?.({ facts } satisfies { facts: Facts }, () => {
    if (trial!.lingers) process.disconnect()
  })
}

/** What comes of closing under a task that still waits is no part of the play. */
async function closeAll(opened: readonly Library[]): Promise<void> {
  const ignore = (): void => {}
  process.on('unhandledRejection', ignore)
  await Promise.all(opened.map((each) => settles(each.close(), CLOSE_LIMIT_MS)))
  await sleep(50)
  process.off('unhandledRejection', ignore)
}

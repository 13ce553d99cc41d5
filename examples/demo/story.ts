import { setTimeout as sleep } from 'node:timers/promises'
import type { Locks } from '../../src/index.ts'
import { seconds, type TakeOver, type Tone } from './board.ts'
import type { Crew, Worker } from './crew.ts'
import { LEASE_MS, type Report, WORKERS } from './plan.ts'

const KEY = 'stock:42'
/** Longer than the lease, so that one sees it renewed. */
const HOLD_MS = 2500
/** For each step that should take a second or two; a busy machine may need longer. */
const LIMIT_MS = 15_000

export interface Stage {
  readonly crew: Crew
  readonly locks: Locks
  readonly takeOvers: Map<string, TakeOver>
  /** Aborted when the viewer has seen enough. */
  readonly quit: AbortSignal
  tell(line: string, tone?: Tone): void
  /** Draws the table. */
  show(): Promise<void>
}

/** Something that was bound to happen did not. */
export class Unexpected extends Error {}

export async function start(stage: Stage): Promise<void> {
  const { error } = await stage.locks.health()
  if (error) throw new Unexpected(error.message)
  for (let number = 1; number <= WORKERS; number += 1) stage.crew.start(number)
  for (const worker of stage.crew.alive) {
    await until(stage, `${worker.name} is ready`, () => worker.ready)
    stage.tell(`${worker.name} is ready (pid ${worker.pid})`)
  }
  await contend(stage)
}

/** A worker is killed while it holds; another takes over when the lease has run out, with a higher token. */
export async function killAndTakeOver(stage: Stage, victim: Worker): Promise<void> {
  const { crew, locks } = stage
  victim.tell({ do: 'linger', key: KEY })
  await until(stage, `${victim.name} holds ${KEY}`, () => victim.lingering)
  const token = victim.token ?? 0n
  stage.tell(`${victim.name} holds ${KEY} with token ${token} and does not let go`)
  const isWanted = (): boolean => crew.alive.some((worker) => worker.isWaiting && worker.key === KEY)
  await until(stage, `someone waits for ${KEY}`, () => isWanted() && heldFor(victim) >= HOLD_MS)
  const heldMs = heldFor(victim)
  stage.tell(`its lease is ${seconds(LEASE_MS)}, renewed in time: it has held the key for ${seconds(heldMs)}`)
  await stage.show()

  const killedAt = performance.now()
  await victim.kill()
  const record = await locks.inspect(KEY)
  if (record?.holder.instance !== victim.instance) throw new Unexpected(`${KEY} was not held any more`)
  stage.tell(`${victim.name} was killed with SIGKILL while it held ${KEY} (token ${token})`, 'bad')

  await until(stage, `another took ${KEY} over`, () => stage.takeOvers.get(KEY)?.from === victim)
  const after = seconds(performance.now() - killedAt)
  const { by, token: next } = stage.takeOvers.get(KEY) as TakeOver
  if (next <= token) throw new Unexpected(`the token did not rise: ${token}, then ${next}`)
  stage.tell(`${by.name} took over ${after} later with token ${next}, which is higher`, 'good')
  await stage.show()

  const substitute = crew.start(victim.number)
  await until(stage, `${substitute.name} is back`, () => substitute.ready)
  stage.tell(`${substitute.name} is back (pid ${substitute.pid})`)
  await contend(stage)
}

/** Keeps the stage's records. */
export function heard(stage: Stage, worker: Worker, report: Report): void {
  if (report.is === 'failed') stage.tell(`${worker.name} gave up: ${report.why}`, 'bad')
  if (report.is !== 'holding') return
  const from = stage.crew.called(report.tookOverFrom)
  if (from) stage.takeOvers.set(report.key, { by: worker, from, token: report.token })
}

function heldFor(worker: Worker): number {
  return performance.now() - worker.holdingSince
}

async function contend(stage: Stage): Promise<void> {
  await sleep(1500, undefined, { signal: stage.quit })
}

async function until(stage: Stage, what: string, condition: () => boolean): Promise<void> {
  const end = performance.now() + LIMIT_MS
  while (!condition()) {
    const [deserter] = stage.crew.deserters
    if (deserter) throw new Unexpected(`${deserter.name} ended by itself`)
    if (performance.now() > end) throw new Unexpected(`waited ${seconds(LIMIT_MS)} in vain until ${what}`)
    await sleep(10, undefined, { signal: stage.quit })
  }
}

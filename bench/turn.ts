import { setTimeout } from 'node:timers/promises'
import { serve } from './crew.ts'
import { closeAndExit, type Opened } from './opened.ts'
import { clock, type Stay } from './stay.ts'

const HOLD_MS = 25
/** A timer may be late by as much. */
const TIMER_MS = 1
/** Longer than all turns of a round take: to tell of a turn at once would take a core from whoever is next. */
const UNTIL_ALL_ARE_OVER_MS = 1000
/** As in a service that has run for a while: what ran a few times only is interpreted, and slowly. */
const WARM_UPS = 100

/**
 * Rounds that do not count, so that nobody has just started: while a process is young, V8 collects its garbage several
 * times, for some milliseconds each, and much of that falls into somebody's turn.
 */
export const WARM_UP_ROUNDS = 15

/** One of the processes that wait for their turn. */
export async function waitForTurns(open: () => Promise<Opened>): Promise<void> {
  const opened = await open()
  await warmUp(opened, await open())
  const turn = async (): Promise<Stay> => {
    const unlock = await opened.lock('turn')
    const from = clock()
    await setTimeout(HOLD_MS - TIMER_MS)
    // The rest to the point: what timers are late by would be counted twenty times.
    while (clock() < from + HOLD_MS);
    const to = clock()
    await unlock()
    await setTimeout(UNTIL_ALL_ARE_OVER_MS)
    return { from, to }
  }
  serve({ turn }, () => closeAndExit(opened))
}

/** Connections are open, whatever wakes a waiter is up, and the code compiled. */
async function warmUp(opened: Opened, other: Opened): Promise<void> {
  const key = `warm up ${process.pid}`
  for (let i = 0; i < WARM_UPS; i += 1) {
    const unlock = await other.lock(key)
    const next = opened.lock(key)
    await setTimeout(5)
    await unlock()
    await (
      await next
    )()
  }
  await other.close()
}

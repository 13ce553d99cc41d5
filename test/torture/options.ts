import { parseArgs } from 'node:util'
import { isStore, STORES, type StoreName } from './arenas/index.ts'
import type { RunOptions } from './run.ts'

export interface Options extends RunOptions {
  readonly store: StoreName | 'all'
  readonly json: string | undefined
}

/** In one line, for the one who typed it. */
export class WrongOption extends Error {}

/** What is left after the last whole round and is shorter than this is no round. */
export const SHORTEST_ROUND_MS = 5_000

export const USAGE: string = `npm run torture -- [options]
Processes take locks on real servers while all of it is harmed at random, and what they saw is checked: see docs/proof.md.
Starts servers of its own, and says nothing until a round is over.

  --store NAME     ${STORES.join(', ')}, or all of them at once (default)
  --minutes N      for each store (default 2)
  --round N        minutes that a round has at most: each begins with new servers and workers (default 2)
  --seed N         of the first round; each round has the next one (default 1)
  --workers N      processes for each store (default 20)
  --rate N         operations a second on each store, less what they wait (default 80; 30 for all)
  --keep FOLDER    keep the histories of all rounds, not only of those that fail
  --json FILE      write the figures there`

/** Null if it is help that is asked for. Throws a `WrongOption`. */
export function optionsOf(args: readonly string[]): Options | null {
  const { help, store, keep, json, ...rest } = valuesOf(args)
  if (help) return null
  if (store !== 'all' && !isStore(store))
    throw new WrongOption(`--store: "${store}" is none of ${STORES.join(', ')} and all`)
  return {
    ...{ store, keep, json },
    minutes: minutes('minutes', rest.minutes),
    round: minutes('round', rest.round),
    seed: whole('seed', rest.seed),
    workers: whole('workers', rest.workers),
    rate: positive('rate', rest.rate ?? (store === 'all' ? '30' : '80')),
  }
}

function valuesOf(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        store: { type: 'string', default: 'all' },
        minutes: { type: 'string', default: '2' },
        round: { type: 'string', default: '2' },
        seed: { type: 'string', default: '1' },
        workers: { type: 'string', default: '20' },
        rate: { type: 'string' },
        keep: { type: 'string' },
        json: { type: 'string' },
        help: { type: 'boolean', default: false },
      },
    }).values
  } catch (error) {
    // Node explains at length, after the first sentence, how to begin a value with a dash.
    const [first = ''] = String((error as Error).message).split(/\.\s|\n/)
    throw new WrongOption(first)
  }
}

function minutes(name: string, text: string): number {
  const least = SHORTEST_ROUND_MS / 60_000
  const value = positive(name, text)
  if (value < least)
    throw new WrongOption(
      `--${name}: ${text} is too short for a round; give ${Math.ceil(least * 100) / 100} at least`,
    )
  return value
}

function whole(name: string, text: string): number {
  const value = positive(name, text)
  if (!Number.isSafeInteger(value)) throw new WrongOption(`--${name}: give a whole number, not "${text}"`)
  return value
}

function positive(name: string, text: string): number {
  const value = Number(text)
  if (!(value > 0 && value < Infinity))
    throw new WrongOption(`--${name}: give a number above 0, not "${text}"`)
  return value
}

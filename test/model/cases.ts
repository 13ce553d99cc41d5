import type { Defines } from './spin.ts'

export interface Case {
  readonly title: string
  readonly defines: Defines
}

export interface Right extends Case {
  /** All there are: with fewer, something would have been left out. */
  readonly states: number
}

/** In all of them two clients; the first begins `BIDS` times. Without violation, each. The last takes five minutes. */
export const CASES: readonly Right[] = [
  { title: '1 key, no fault, begins twice', states: 91_121, defines: { KEYS: 1, FAULTS: 0, BIDS: 2 } },
  { title: '1 key, 1 fault', states: 1_350_435, defines: { KEYS: 1, FAULTS: 1, BIDS: 1 } },
  { title: '1 key, 1 fault, begins twice', states: 5_073_532, defines: { KEYS: 1, FAULTS: 1, BIDS: 2 } },
  {
    title: '1 key, 1 fault, begins twice, longer',
    states: 11_784_751,
    defines: { KEYS: 1, FAULTS: 1, BIDS: 2, TICKS: 4 },
  },
  { title: '1 key, 2 faults, begins twice', states: 40_967_967, defines: { KEYS: 1, FAULTS: 2, BIDS: 2 } },
  { title: '1 key, 3 faults', states: 42_441_294, defines: { KEYS: 1, FAULTS: 3, BIDS: 1 } },
  { title: '2 keys, no fault, begins twice', states: 710_141, defines: { KEYS: 2, FAULTS: 0, BIDS: 2 } },
  { title: '2 keys, 1 fault', states: 8_010_582, defines: { KEYS: 2, FAULTS: 1, BIDS: 1 } },
  {
    title: '1 key, no fault, with writes',
    states: 916_258,
    defines: { KEYS: 1, FAULTS: 0, BIDS: 1, WRITES: 1 },
  },
  {
    title: '1 key, 1 fault, with writes',
    states: 63_534_235,
    defines: { KEYS: 1, FAULTS: 1, BIDS: 1, WRITES: 1 },
  },
]

/** Mistakes that the model must find: else it looks at nothing. */
export const BUGS: readonly Case[] = [
  { title: 'no margin for a slow clock', defines: { KEYS: 1, FAULTS: 0, BIDS: 1, BUG_NO_MARGIN: 1 } },
  {
    title: 'the lease is counted from the reply',
    defines: { KEYS: 1, FAULTS: 0, BIDS: 1, BUG_FROM_REPLY: 1 },
  },
  {
    title: 'a release does not look at the owner',
    defines: { KEYS: 1, FAULTS: 1, BIDS: 2, BUG_ANYONE_RELEASES: 1 },
  },
  {
    title: 'numbers only count, and are forgotten with the record',
    defines: { KEYS: 1, FAULTS: 0, BIDS: 2, BUG_DELETE: 1 },
  },
  {
    title: 'numbers only count, and the store forgets them once',
    defines: { KEYS: 1, FAULTS: 1, BIDS: 2, BUG_COUNT_ONLY: 1 },
  },
  {
    title: 'a hand-off keeps the token',
    defines: { KEYS: 1, FAULTS: 0, BIDS: 1, WRITES: 1, BUG_SAME_TOKEN: 1 },
  },
  {
    title: 'the resource does not look at the token',
    defines: { KEYS: 1, FAULTS: 0, BIDS: 1, WRITES: 1, BUG_NO_GUARD: 1 },
  },
]

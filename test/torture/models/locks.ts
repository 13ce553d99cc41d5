/**
 * The models by which Hazelcast checks its locks, each a little stricter than the one before. A state is a list, so
 * that two of them can be compared as text.
 */
import type { Model } from './linearizable.ts'

export interface LockStep {
  readonly is: 'acquire' | 'release'
  /** Who does it: the same for a lease and for those that enter again inside it. */
  readonly client: string
  /** Of an acquire. */
  readonly fence: bigint
}

type LockModel<S> = Model<LockStep, S>

/** Free or held. */
export const mutex: LockModel<boolean> = {
  name: 'mutex',
  start: false,
  step: (held, { is }) => (held === (is === 'release') ? !held : null),
}

/** Only the one who has it gives it back. */
export const ownerAwareMutex: LockModel<string> = {
  name: 'owner-aware mutex',
  start: '',
  step(owner, { is, client }) {
    if (is === 'acquire') return owner === '' ? client : null
    return owner === client ? '' : null
  },
}

/** The one who has it may take it again, and gives it back as often. */
export const reentrantMutex: LockModel<readonly [owner: string, times: number]> = {
  name: 're-entrant mutex',
  start: ['', 0],
  step([owner, times], { is, client }) {
    if (is === 'acquire') return times === 0 || owner === client ? [client, times + 1] : null
    if (owner !== client) return null
    return times === 1 ? ['', 0] : [owner, times - 1]
  },
}

/** Each acquire gets a higher fence than all before it. */
export const fencedMutex: LockModel<readonly [owner: string, fence: bigint]> = {
  name: 'fenced mutex',
  start: ['', 0n],
  step([owner, last], { is, client, fence }) {
    if (is === 'acquire') return owner === '' && fence > last ? [client, fence] : null
    return owner === client ? ['', last] : null
  },
}

/** The same; whoever takes it again gets the same fence again. */
export const reentrantFencedMutex: LockModel<readonly [owner: string, times: number, fence: bigint]> = {
  name: 're-entrant fenced mutex',
  start: ['', 0, 0n],
  step([owner, times, last], { is, client, fence }) {
    if (is === 'acquire') {
      if (times === 0) return fence > last ? [client, 1, fence] : null
      return owner === client && fence === last ? [owner, times + 1, last] : null
    }
    if (owner !== client) return null
    return times === 1 ? ['', 0, last] : [owner, times - 1, last]
  },
}

import { linearizable, type Model, type Operation } from '../models/linearizable.ts'
import {
  fencedMutex,
  type LockStep,
  mutex,
  ownerAwareMutex,
  reentrantFencedMutex,
  reentrantMutex,
} from '../models/locks.ts'
import { type Piece, pieces } from '../models/pieces.ts'
import type { Findings } from './findings.ts'
import type { Round } from './round.ts'
import { touches } from './span.ts'

/** A lock that is not free for so long, as the workers see it, is left to the other checks. */
const MAX_OPERATIONS = 1000
const MAX_STATES = 20_000

/** Some order of all that was done to a key is possible for a lock, as the workers saw it. */
export function lockModels(round: Round, findings: Findings): void {
  const { figures } = findings
  for (const piece of pieces(round)) {
    const excuses = [...round.losses, ...round.evictions.on(piece.key)]
    if (excuses.some((excuse) => touches(excuse, piece))) figures.piecesExcused += 1
    else if (piece.operations.length > MAX_OPERATIONS) figures.piecesTooLong += 1
    else if (check(piece, findings)) figures.piecesChecked += 1
    else figures.piecesTooLong += 1
  }
}

function check({ key, from, to, workers, operations }: Piece, findings: Findings): boolean {
  const outer = operations.filter(({ nested }) => !nested)
  const verdicts = [
    verdict(mutex, outer),
    verdict(ownerAwareMutex, outer),
    verdict(fencedMutex, outer),
    verdict(reentrantMutex, operations),
    verdict(reentrantFencedMutex, operations),
  ]
  const broken = verdicts.filter(({ holds }) => holds === false).map(({ name }) => name)
  if (broken.length > 0) {
    const which = broken.length === verdicts.length ? 'any of the lock models' : broken.join(', ')
    const message = `no order of the ${operations.length} steps on "${key}" is possible for ${which}`
    findings.fail('model', message, { key, from, to, workers })
  }
  return verdicts.every(({ holds }) => holds !== null)
}

function verdict<S>(
  model: Model<LockStep, S>,
  operations: readonly Operation<LockStep>[],
): { readonly name: string; readonly holds: boolean | null } {
  return { name: model.name, holds: linearizable(model, operations, MAX_STATES) }
}

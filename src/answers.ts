import type { Answer, Holder, ReleaseAnswer, RenewalAnswer } from './store.ts'

/**
 * What core demands of a store's answers before it acts on them. A store may be anyone's code, and a
 * grant number that is not one would break fencing in silence.
 */
export function isAnswer(answer: Answer): boolean {
  if (answer.granted)
    return isGrantNumber(answer.grant) && (answer.previous === null || isHolder(answer.previous))
  return answer.granted === false && Number.isFinite(answer.retryInMs) && isHolder(answer.holder)
}

export function isRenewalAnswer(answer: RenewalAnswer): boolean {
  return answer.renewed ? isGrantNumber(answer.grant) : answer.renewed === false
}

export function isReleaseAnswer(answer: ReleaseAnswer): boolean {
  return typeof answer.released === 'boolean' && typeof answer.wanted === 'boolean'
}

export function isGrantNumber(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0
}

function isHolder(value: unknown): value is Holder {
  return typeof value === 'object' && value !== null
}

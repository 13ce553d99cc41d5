import type { Answer, Holder, LockPage, LockRecord, ReleaseAnswer, RenewalAnswer } from './store.ts'

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

export function isLockPage(page: LockPage): boolean {
  return isObject(page) && Array.isArray(page.locks) && page.locks.every((lock) => isLockRecord(lock))
}

export function isLockRecord(record: LockRecord): boolean {
  return (
    isObject(record) &&
    typeof record.key === 'string' &&
    isGrantNumber(record.grant) &&
    isHolder(record.holder)
  )
}

function isHolder(value: Holder): boolean {
  return isObject(value) && typeof value.service === 'string' && typeof value.instance === 'string'
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}

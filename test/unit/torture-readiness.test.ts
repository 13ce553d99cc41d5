import { EventEmitter, getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import { ready } from '../torture/readiness.ts'

const never = new Promise<void>(() => {})

describe('a worker of the torture', () => {
  it('is waited for until it works or has died', async () => {
    const child = new EventEmitter()
    const working = ready('w1', child, never, 60_000)
    child.emit('message', 'ready')
    await working
    await ready('w1', child, Promise.resolve(), 60_000)
    expect(getEventListeners(child, 'message')).toEqual([])
  })

  it('is told as a failure if it does neither', async () => {
    const late = ready('w1', new EventEmitter(), never, 5)
    await expect(late).rejects.toThrow('w1 was not ready to work after 0.005 s')
  })
})

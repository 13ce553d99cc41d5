import { describe, expect, it } from 'vitest'
import { onAbort } from '../../src/abort.ts'

describe('onAbort', () => {
  it('calls once, also if the signal is aborted already, or aborts just now', () => {
    const stop = new AbortController()
    const heard: string[] = []
    onAbort(stop.signal, () => {
      heard.push('before')
      onAbort(stop.signal, () => heard.push('meanwhile'))
    })
    stop.abort()
    const undo = onAbort(stop.signal, () => heard.push('after'))
    undo()
    expect(heard).toEqual(['before', 'meanwhile', 'after'])
  })

  it('calls nobody who has gone', () => {
    const stop = new AbortController()
    const heard: string[] = []
    const undo = onAbort(stop.signal, () => heard.push('gone'))
    onAbort(stop.signal, () => heard.push('there'))
    undo()
    stop.abort()
    expect(heard).toEqual(['there'])
  })
})

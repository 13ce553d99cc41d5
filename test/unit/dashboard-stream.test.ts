import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { EventStreamReader } from '../../src/dashboard/event-stream.ts'

describe('the reader of the event stream', () => {
  it('reads name, data and id, and knows where to resume', () => {
    const reader = new EventStreamReader()
    expect(reader.read('id: a.1\nevent: locks\ndata: {"all":true}\n\n')).toEqual([
      { name: 'locks', data: '{"all":true}' },
    ])
    expect(reader.lastId).toBe('a.1')
    // Those that are for one reader only have none, and leave the place as it was.
    expect(reader.read('event: hello\ndata: {}\n\n')).toEqual([{ name: 'hello', data: '{}' }])
    expect(reader.lastId).toBe('a.1')
  })

  it('takes a message only when it is whole, and its id with it', () => {
    const reader = new EventStreamReader('a.1')
    expect(reader.read('id: a.2\nevent: event\ndata: {"te')).toEqual([])
    expect(reader.lastId).toBe('a.1')
    expect(reader.read('xt":1}\n')).toEqual([])
    expect(reader.lastId).toBe('a.1')
    expect(reader.read('\n')).toEqual([{ name: 'event', data: '{"text":1}' }])
    expect(reader.lastId).toBe('a.2')
  })

  it('passes over comments, unknown fields and empty messages', () => {
    const reader = new EventStreamReader()
    expect(reader.read(':\n\n: a sign of life\n\nretry: 10\n\nid\n\n')).toEqual([])
    expect(reader.read('data\ndata:x\ndata: y\n\n')).toEqual([{ name: 'message', data: '\nx\ny' }])
  })

  it('does not care where the text was cut, nor whether lines end with CR', () => {
    const text = 'id: 1\r\nevent: a\r\ndata: one\r\n\r\n:\n\nid: 2\nevent: b\ndata: two\ndata: lines\n\n'
    const whole = new EventStreamReader()
    const expected = whole.read(text)
    expect(expected).toEqual([
      { name: 'a', data: 'one' },
      { name: 'b', data: 'two\nlines' },
    ])
    fc.assert(
      fc.property(fc.array(fc.nat(text.length), { maxLength: 12 }), (cuts) => {
        const reader = new EventStreamReader()
        const at = [0, ...cuts.sort((a, b) => a - b), text.length]
        const pieces = at.slice(1).map((end, i) => text.slice(at[i], end))
        expect(pieces.flatMap((piece) => reader.read(piece))).toEqual(expected)
        expect(reader.lastId).toBe('2')
      }),
    )
  })
})

/** One message of a server-sent event stream. */
export interface StreamMessage {
  readonly name: string
  readonly data: string
}

/**
 * Reads the text of an event stream, however it was cut on its way. The browser's own EventSource cannot send
 * a header, and a token has no place in an address.
 */
export class EventStreamReader {
  /** Of the last whole message that had one: what to resume from. */
  lastId: string
  #rest = ''
  #name = ''
  #data: string[] = []
  #id: string | null = null

  constructor(lastId = '') {
    this.lastId = lastId
  }

  /** The messages that are complete with this piece. */
  read(piece: string): StreamMessage[] {
    const messages: StreamMessage[] = []
    const text = this.#rest + piece
    let start = 0
    for (;;) {
      const end = text.indexOf('\n', start)
      if (end === -1) break
      const line = text.slice(start, text[end - 1] === '\r' && end > start ? end - 1 : end)
      start = end + 1
      if (line !== '') this.#field(line)
      else this.#complete(messages)
    }
    this.#rest = text.slice(start)
    return messages
  }

  #field(line: string): void {
    const colon = line.indexOf(':')
    const field = colon === -1 ? line : line.slice(0, colon)
    const value = colon === -1 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)
    if (field === 'data') this.#data.push(value)
    else if (field === 'event') this.#name = value
    // A NUL in an id makes it void, says the standard; it could not go into a header.
    else if (field === 'id' && !value.includes('\0')) this.#id = value
  }

  #complete(messages: StreamMessage[]): void {
    if (this.#id !== null) this.lastId = this.#id
    if (this.#data.length > 0) messages.push({ name: this.#name || 'message', data: this.#data.join('\n') })
    this.#name = ''
    this.#data = []
    this.#id = null
  }
}

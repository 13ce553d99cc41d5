/** A member of one queue at a time. The queue owns the links. */
export interface Linked<T> {
  next: T | null
  previous: T | null
}

/** First in, first out, with removal from anywhere in constant time: waiters may leave at any moment. */
export class Fifo<T extends Linked<T>> {
  first: T | null = null
  #last: T | null = null
  size = 0

  push(member: T): void {
    member.previous = this.#last
    member.next = null
    if (this.#last) this.#last.next = member
    else this.first = member
    this.#last = member
    this.size += 1
  }

  /** The member must be in this queue. */
  delete(member: T): void {
    if (member.previous) member.previous.next = member.next
    else this.first = member.next
    if (member.next) member.next.previous = member.previous
    else this.#last = member.previous
    member.next = null
    member.previous = null
    this.size -= 1
  }
}

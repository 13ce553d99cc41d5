import { CONNECT_LIMIT_MS } from './opened.ts'

/**
 * Until when a step may be sent. Later, whoever asked has been told that it failed: what it then took would be held for
 * nobody, and the answer for one node of a cluster is not passed on any more. What a client keeps in a queue of its own, or
 * sends again by itself, is out of reach.
 */
export class Deadline {
  #at = performance.now() + CONNECT_LIMIT_MS

  get isOver(): boolean {
    return performance.now() >= this.#at
  }

  /** The caller was told already. */
  end(): void {
    this.#at = -Infinity
  }

  /** Throws if it is over. Between this and the sending, nothing may be waited for. */
  check(): void {
    // It may have been sent before: clients do work again by themselves.
    if (this.isOver) throw new Error(`given up: no connection answered within ${CONNECT_LIMIT_MS} ms`)
  }
}

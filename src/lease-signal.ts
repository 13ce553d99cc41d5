import type { LockError } from './errors.ts'
import { runOutside } from './section.ts'

/** The signal of a lease. Made when somebody first asks for it: most never do. */
export class LeaseSignal {
  readonly #controller = new AbortController()

  /** `reason`: why it is aborted already, if it is. */
  constructor(reason: LockError | null) {
    if (reason) this.#controller.abort(reason)
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  // Its listeners are foreign code.
  abort(reason: LockError): void {
    runOutside(() => this.#controller.abort(reason))
  }
}

import { constants } from 'node:os'

const PASSED_ON = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const

export type PassedOn = (typeof PASSED_ON)[number]

/** The signals of this process while a command line with a command in it runs: they are for that command. */
export class Signals {
  readonly #asked = new AbortController()
  #receive: ((name: PassedOn) => void) | null = null
  #code = 0

  constructor() {
    for (const name of PASSED_ON) process.on(name, this.#listener)
  }

  /** Aborts when this process itself is asked to end. */
  get asked(): AbortSignal {
    return this.#asked.signal
  }

  /** The exit code that says by which signal it was asked. */
  get code(): number {
    return this.#code
  }

  /** The command hears all of them from now on, until the result is called. */
  passTo(receive: (name: PassedOn) => void): () => void {
    this.#receive = receive
    return () => (this.#receive = null)
  }

  close(): void {
    for (const name of PASSED_ON) process.off(name, this.#listener)
  }

  readonly #listener = (name: NodeJS.Signals): void => {
    // To many a command these two mean something else than its end; without one, they mean what they always mean.
    const isForCommand = this.#receive !== null && (name === 'SIGHUP' || name === 'SIGQUIT')
    if (!isForCommand && name !== 'SIGUSR1' && name !== 'SIGUSR2') {
      this.#code ||= codeOf(name)
      this.#asked.abort()
    }
    this.#receive?.(name as PassedOn)
  }
}

/** As shells tell that a signal has ended a command. */
export function codeOf(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal]
}

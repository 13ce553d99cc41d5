import type { Environment } from '../environment.ts'
import type { ServerTerms } from './options.ts'
import { Problem } from './problem.ts'

/** One of two for each forced release: before it, `asked`, and when it is known what became of it. */
export interface AuditEntry {
  /** The same in both. */
  readonly id: string
  /** By the server's clock. */
  readonly at: string
  readonly action: 'force-release'
  /** The name of the token. */
  readonly who: string
  readonly peer: string | null
  readonly key: string
  readonly grant: number
  readonly why: string | null
  /** `unknown`: the store did not answer; it may have happened. */
  readonly outcome: 'asked' | 'released' | 'moved-on' | 'not-held' | 'unknown'
}

export type AuditedCall = Pick<AuditEntry, 'who' | 'peer' | 'key' | 'grant' | 'why'>

const LIMIT_MS = 5000

export class Audit {
  readonly #write: ServerTerms['audit']
  readonly #env: Environment
  readonly #report: (error: unknown) => void

  constructor({ audit, env }: ServerTerms, report: (error: unknown) => void) {
    this.#write = audit
    this.#env = env
    this.#report = report
  }

  /** Writes what is asked for, or nothing is done: AUDIT_FAILED. The result writes what became of it. */
  async begin(call: AuditedCall): Promise<(outcome: AuditEntry['outcome']) => Promise<void>> {
    const id = this.#env.newId()
    const entry = (outcome: AuditEntry['outcome']): AuditEntry => {
      const { who, peer, key, grant, why } = call
      const at = new Date().toISOString()
      return { id, at, action: 'force-release', who, peer, key, grant, why, outcome }
    }
    try {
      await this.#within(entry('asked'))
    } catch (error) {
      this.#report(error)
      throw new Problem('AUDIT_FAILED', 'the audit could not be written, so nothing was freed', {
        'retry-after': '10',
      })
    }
    return async (outcome) => {
      // It has happened: an audit that fails now is reported, and does not change the answer.
      await this.#within(entry(outcome)).catch(this.#report)
    }
  }

  #within(entry: AuditEntry): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = this.#env.setTimer(
        LIMIT_MS,
        () => reject(new Error(`the audit was not written within ${LIMIT_MS} ms`)),
        true,
      )
      new Promise<void>((written) => written(this.#write(entry)))
        .then(resolve, reject)
        .finally(() => this.#env.clearTimer(timer))
    })
  }
}

import { type Bug, mutant } from '../mutant.ts'

/** Waiting, handing on, entering again, giving others a turn. */
export const QUEUE_BUGS: readonly Bug[] = [
  mutant(
    'a waiter that was aborted stays in the queue',
    'src/line.ts',
    "if (why === 'abort') this.#fail(waiter, 'aborted', aborted(this.key, waiter.request.signal))",
    "if (why === 'abort') waiter.fail(aborted(this.key, waiter.request.signal))",
  ),
  mutant(
    'last come, first served',
    'src/fifo.ts',
    `    member.previous = this.#last
    member.next = null
    if (this.#last) this.#last.next = member
    else this.first = member
    this.#last = member`,
    `    member.previous = null
    member.next = this.first
    if (this.first) this.first.previous = member
    else this.#last = member
    this.first = member`,
  ),
  mutant(
    'every waiter asks the store',
    'src/line.ts',
    'if (free) this.#ask()\n    else if',
    'this.#ask()\n    if',
  ),
  mutant(
    'a lost wake-up costs the whole lease: nobody polls behind the push',
    'src/pace.ts',
    'push ? this.#jitter(this.#settings().pollMaxMs) : this.#backoff(tries)',
    'push ? Infinity : this.#backoff(tries)',
  ),
  mutant(
    'hand-off without end',
    'src/hold.ts',
    'this.env.now() - this.since < SLICE_MS',
    'this.env.now() - this.since < Infinity',
  ),
  mutant(
    'no courtesy: a process asks again before those it gave the key back for',
    'src/line.ts',
    'answer.wanted && !this.#closing) this.#pause(',
    'answer.wanted && this.#closing) this.#pause(',
  ),
  {
    ...mutant(
      'courtesy of half of what is left of a wait, which is nothing where more wait than can be served',
      'src/line.ts',
      '(head?.request.waitMs ?? Infinity) / 2',
      '(head ? head.request.waitMs - head.waitedMs : Infinity) / 2',
      'always about to give up',
    ),
    tests: 'test/unit/waiting-turns.test.ts',
  },
  mutant(
    'siblings are let in together',
    'src/reentry.ts',
    'if (!this.#nested) return Promise',
    'if (request.reentrant) return Promise',
  ),
  {
    bug: 'a hold is handed to a waiter that asked for another lease',
    changes: [
      { file: 'src/hold.ts', find: 'request.leaseMs === leaseMs &&\n', replace: '' },
      { file: 'src/hold.ts', find: 'request.leaseMs === this.leaseMs &&\n', replace: '' },
      { file: 'src/hold.ts', find: 'request.leaseMs === this.bid.longestMs &&\n', replace: '' },
    ],
  },
  mutant(
    're-entry waits for itself',
    'src/entrance.ts',
    'if (!outer) return',
    'if (!outer || outer.held) return',
  ),
  mutant(
    '`reentrant: false` enters again',
    'src/entrance.ts',
    'if (!request.reentrant) {',
    'if (!request.reentrant && key.length === 0) {',
  ),
  mutant(
    'a late grant is dropped: its asker is gone and nobody gives the key back',
    'src/line.ts',
    '} else {\n      this.#giveBack(hold)\n    }',
    '} else {\n      hold.stopRenewing()\n      this.#hold = null\n      this.#proceed()\n    }',
  ),
  mutant(
    'a store that is down ends the wait at the first failure',
    'src/line.ts',
    "const lasting = error.code !== 'STORE_UNAVAILABLE'",
    'const lasting = error.code.length > 0',
  ),
  mutant(
    'the end of the wait is not noticed while an ask is under way',
    'src/line.ts',
    'const fault = this.#fault ?? this.#silence(waiter)',
    "if (this.#phase === 'asking') return\n    const fault = this.#fault ?? this.#silence(waiter)",
  ),
]

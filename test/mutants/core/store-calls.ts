import { type Bug, mutant } from '../mutant.ts'

/** Batches, time limits, unknown outcomes, and what is left when all is over. */
export const STORE_CALL_BUGS: readonly Bug[] = [
  mutant(
    'anybody may release: the store does not look at the owner',
    'test/simulation/model-store.ts',
    `  release({ key, owner }: Claim): ReleaseAnswer {
    const record = this.held(key)
    if (record?.owner !== owner) {`,
    `  release({ key, owner }: Claim): ReleaseAnswer {
    const record = this.held(key)
    if (!record) {`,
  ),
  mutant(
    'an owner is used for more than one hold',
    'src/line.ts',
    'this.#bid = null\n    bid.spent = true\n',
    '',
  ),
  mutant(
    'an ask with no answer is not taken back',
    'src/line.ts',
    'if (this.#bid) this.#keeping.compensation.add(this.#bid)\n',
    '',
  ),
  mutant(
    'a retry forgets the ask before it',
    'src/line.ts',
    'if (sentAt !== NEVER_SENT) bid.askUnanswered()\n',
    'this.#bid = null\n',
  ),
  mutant(
    'a release with no answer is not repeated',
    'src/line.ts',
    'compensation.add(hold.bid, failed)\n',
    'compensation.add(hold.bid)\n',
  ),
  mutant(
    'what the store may have prolonged after a loss is not taken back',
    'src/hold.ts',
    'this.mayBeAtStore = true\n',
    '',
  ),
  mutant(
    'a leftover is released once and then forgotten',
    'src/compensation.ts',
    'this.#schedule.set(leftover.entry, Math.min(now + leftover.gapMs, leftover.until))',
    'this.#forget(leftover)',
  ),
  mutant(
    'the late answer to an ask takes back what its retry got',
    'src/waiting-room.ts',
    'if (this.#lines.get(key)?.adopt(owner)) return\n',
    '',
  ),
  mutant(
    'a grant that came after its deadline is used',
    'src/line.ts',
    'if (now >= deadlineOf(sentAt, leaseMs)) {',
    'if (now >= deadlineOf(sentAt, leaseMs) + 1e9) {',
  ),
  mutant(
    'the answers of a batch are off by one',
    'src/batcher.ts',
    '(answers as readonly (O | Fault)[])[i]',
    '(answers as readonly (O | Fault)[])[(i + 1) % answers.length]',
  ),
  mutant(
    'a key stands twice in one batch',
    'src/batcher.ts',
    'if (keys.has(key)) rest',
    'if (keys.size > MAX_BATCH) rest',
  ),
  mutant(
    'a call has no time limit',
    'src/connection.ts',
    'if (!settled) finish(this.#unavailable(`did not answer within',
    'if (this.#closed) finish(this.#unavailable(`did not answer within',
  ),
  mutant(
    'a failed call is an unhandled rejection',
    'src/connection.ts',
    'opening.then(send, fail)',
    'opening.then(send)',
  ),
  mutant(
    'an opening that hangs holds up every call for ever',
    'src/connection.ts',
    'if (this.#opening === opening) this.#opening = null\n      if (!settled)',
    'if (!settled)',
  ),
  mutant(
    'the time of day of the client is sent',
    'src/line.ts',
    'owner, leaseMs, holder: this.#keeping.holder(context)',
    'owner, leaseMs: leaseMs + this.#calledAt, holder: this.#keeping.holder(context)',
  ),
  mutant(
    'renewals pile up behind a slow store',
    'src/renewals.ts',
    'if (hold.renewalsUnderWay >= MAX_UNDER_WAY) return\n',
    '',
  ),
  mutant('close leaves the timer of renewals', 'src/workings.ts', 'this.#renewals.close()\n', ''),
  mutant('close leaves the timer of deadlines', 'src/workings.ts', 'this.#deadlines.close()\n', ''),
  mutant(
    'close leaves the timers of calls under way',
    'src/connection.ts',
    'for (let end = this.#underWay[0]; end; end = this.#underWay[0]) end(closedDuringCall())\n',
    '',
  ),
  mutant('close leaves the subscription', 'src/waiting-room.ts', 'await this.#watch?.close()\n', ''),
  {
    bug: 'a late answer opens the store again after close',
    changes: [
      { file: 'src/compensation.ts', find: 'if (this.#closed || (', replace: 'if ((' },
      {
        file: 'src/connection.ts',
        find: 'if (this.#closed) return this.#env.defer(() => settle(closedDuringCall(), NEVER_SENT))\n',
        replace: '',
      },
    ],
  },
  mutant(
    'close leaves waiters waiting',
    'src/line.ts',
    'this.#closing = true\n    for (let waiter',
    "this.#closing = true\n    if (this.#phase !== 'held') return\n    for (let waiter",
  ),
]

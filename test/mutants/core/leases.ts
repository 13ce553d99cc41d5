import { type Bug, mutant } from '../mutant.ts'

/** Deadlines, renewals, tokens, and what a holder is told. */
export const LEASE_BUGS: readonly Bug[] = [
  mutant(
    'the deadline counts from the reply instead of the send',
    'src/connection.ts',
    'settle(result, sentAt)\n',
    'settle(result, this.#env.now())\n',
  ),
  mutant(
    'the send time is read after the call was made',
    'src/connection.ts',
    'runOutside(() => step(store)).then(succeed, fail)',
    'runOutside(() => step(store)).then(succeed, fail)\n        sentAt = this.#env.now()',
  ),
  mutant(
    'no margin: the deadline is the whole lease',
    'src/hold.ts',
    'return sentAt + leaseMs - marginMs',
    'return sentAt + leaseMs',
  ),
  mutant(
    'no timer for the deadline: only reading `held` notices it',
    'src/workings.ts',
    'holds.forEach((hold) => hold.expire())',
    'void holds',
  ),
  mutant(
    '`held` is stored, not computed',
    'src/hold.ts',
    "if (this.#state === 'held' && this.env.now() >= this.#deadline.dueAt) this.expire()",
    '',
  ),
  {
    bug: 'a late renewal answer revives a lost lease',
    changes: [
      {
        file: 'src/hold.ts',
        find: 'if (!this.held || this.#windingDown) return\n    const deadline',
        replace: "if (this.#state === 'ended') return\n    this.#state = 'held'\n    const deadline",
      },
      {
        file: 'src/key-lease.ts',
        find: 'return this.#end === null && this.#loss === null && this.#hold.held',
        replace: 'return this.#end === null && this.#hold.held',
      },
    ],
  },
  mutant(
    'a release that the store refused counts as one that it took',
    'src/line.ts',
    'done?.(failure ?? (!failed && answer.released))',
    'done?.(failure ?? !failed)',
  ),
  mutant(
    'a renewal answer brings the deadline closer',
    'src/hold.ts',
    'if (deadline > this.#deadline.dueAt) this',
    'this',
  ),
  mutant(
    'a renewal that the store refused is tried again instead of believed',
    'src/renewals.ts',
    'hold.lose(reason)\n',
    '',
  ),
  {
    ...mutant(
      'an extend that is confirmed after a hand-off changes the lease of the next',
      'src/renewals.ts',
      'if (hold.lease === lease) hold.leaseMs',
      'if (lease) hold.leaseMs',
      'a shorter lease on its way',
    ),
    tests: 'test/unit/waiting-turns.test.ts',
  },
  mutant(
    'renewal gives up after three failures',
    'src/renewals.ts',
    'hold.failures += 1\n',
    'hold.failures += 1\n      if (hold.failures === 3) return this.delete(hold)\n',
  ),
  mutant(
    'renewal goes on after the release',
    'src/hold.ts',
    '#stop(): void {\n    this.#keeping.renewals.delete(this)',
    '#stop(): void {',
  ),
  mutant('`renew: false` is renewed', 'src/hold.ts', 'if (request.renew) keeping', 'keeping'),
  mutant(
    '`rotateToken` raises nothing',
    'src/renewals.ts',
    'const rotate = rotateMs > 0 &&',
    'const rotate = false &&',
  ),
  mutant('the token is not raised on hand-off', 'src/line.ts', 'hold.handOffs += 1\n', ''),
  mutant('`atLeast` is ignored', 'src/line.ts', 'if (lingerMs > 0) {', 'if (lingerMs > 1e9) {'),
  mutant(
    'a nested lease is not told of the loss',
    'src/key-lease.ts',
    '    this.#level?.end(reason)\n    this.#whole',
    '    this.#whole',
  ),
  mutant(
    "the user's error is masked by the loss",
    'src/locks.ts',
    'await lease.dispose()\n      throw error',
    'if (!(await lease.dispose())) throw lostBeforeRelease(key)\n      throw error',
  ),
  mutant(
    '`using` says nothing of a loss',
    'src/locks.ts',
    'if ((left === false || lease.loss) && !request.ignoreLoss)',
    'if (left === false && key.length === 0)',
  ),
  mutant(
    '`release` rejects because of a loss',
    'src/key-lease.ts',
    'if (left instanceof LockError) throw left\n',
    "if (left instanceof LockError) throw left\n    if (!left) throw this.#loss ?? this.#notHeld('it was lost')\n",
  ),
]

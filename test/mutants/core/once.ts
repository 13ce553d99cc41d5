import { type Bug, mutant } from '../mutant.ts'

/** Jobs that are done once. */
export const ONCE_BUGS: readonly Bug[] = [
  mutant(
    'done() is not asked again under the lock',
    'src/once.ts',
    'const isDone = await answerFor(holder, job)',
    'job.leave(holder)\n    const isDone = false',
  ),
  mutant(
    'those who waited run it too',
    'src/once.ts',
    "candidate.tell(isDone)\n    if (isDone) return 'done'\n",
    '',
  ),
  mutant(
    'nobody looks while another has the lock',
    'src/once/job.ts',
    'else this.#timer ??= this.#env.setTimer(this.#pauseMs(), () => this.#poll(), false)',
    '',
  ),
  mutant(
    'an answer from before the lock counts under it',
    'src/once/job.ts',
    'return !this.#asking.has(candidate)',
    'return candidate.insists || !this.#asking.has(candidate)',
  ),
  mutant(
    'a done() that hangs silences those of all others',
    'src/once/job.ts',
    '    this.#endTurn(slow)\n',
    '',
  ),
  mutant(
    'one that got no answer takes the lock at the word of another',
    'src/once/job.ts',
    'return !this.#asking.has(candidate)',
    'return !candidate.insists',
  ),
  mutant(
    'one that has the lock waits for the answer to another',
    'src/once/job.ts',
    'if (candidate.insists) this.#ask(candidate)\n    else ',
    '',
  ),
  mutant(
    'one who gave up is still in the queue for the lock',
    'src/once/candidate.ts',
    '    this.#stop.abort()\n',
    '',
  ),
]

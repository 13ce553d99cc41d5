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
    'candidate.insists && candidate !== question.by && !isDone',
    'isDone && !isDone',
  ),
  mutant(
    'one who gave up is still in the queue for the lock',
    'src/once/candidate.ts',
    '    this.#stop.abort()\n',
    '',
  ),
]

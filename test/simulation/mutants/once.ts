import { type Mutant, mutant } from './mutant.ts'

const tests = 'test/unit/once'

/** Jobs that are done once. The first is none: what the tests say of the sources as they are. */
export const ONCE_CONTROL: Mutant = { bug: 'nothing: once as it is', changes: [], tests }

export const ONCE_MUTANTS: readonly Mutant[] = [
  mutant(
    'once: done() is not asked again under the lock',
    'src/once.ts',
    'const isDone = await answerFor(holder, job)',
    'job.leave(holder)\n    const isDone = false',
  ),
  mutant(
    'once: those who waited run it too',
    'src/once.ts',
    "candidate.tell(isDone)\n    if (isDone) return 'done'\n",
    '',
  ),
  mutant(
    'once: nobody looks while another has the lock',
    'src/once/job.ts',
    'else this.#timer ??= this.#env.setTimer(this.#pauseMs(), () => this.#poll(), false)',
    '',
  ),
  mutant(
    'once: an answer from before the lock counts under it',
    'src/once/job.ts',
    'candidate.insists && candidate !== question.by && !isDone',
    'isDone && !isDone',
  ),
  mutant(
    'once: one who gave up is still in the queue for the lock',
    'src/once/candidate.ts',
    '    this.#stop.abort()\n',
    '',
  ),
].map((each) => ({ ...each, tests }))

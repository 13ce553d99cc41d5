import { describeError } from '../../../src/errors.ts'
import type { Answer, Fault, ReleaseAnswer, RenewalAnswer, Store } from '../../../src/store.ts'
import type { Claim, HistoryWriter } from '../history.ts'

type AnyAnswer = Answer | RenewalAnswer | ReleaseAnswer | Fault

/** The store, with all that passes between it and its client written down. */
export function recorded(store: Store, history: HistoryWriter): Store {
  let calls = 0

  async function note<A extends AnyAnswer>(
    step: 'acquire' | 'renew' | 'release',
    asked: readonly Claim[],
    run: () => Promise<readonly A[]>,
  ): Promise<readonly A[]> {
    calls += 1
    const call = calls
    const claims = asked.map(({ key, owner, leaseMs }) =>
      leaseMs === undefined ? { key, owner } : { key, owner, leaseMs },
    )
    history.note({ is: 'call', call, step, claims })
    try {
      const answers = await run()
      const errors = answers.flatMap((answer) => ('error' in answer ? [told(answer.error)] : []))
      const rest = errors.length === 0 ? {} : { errors }
      history.note({ is: 'reply', call, answers: answers.map(brief), ...rest })
      return answers
    } catch (error) {
      history.note({ is: 'failed', call, error: told(error) })
      throw error
    }
  }

  return {
    name: store.name,
    open: () => {
      history.note({ is: 'opening' })
      return store.open()
    },
    acquire: (asks) => note('acquire', asks, () => store.acquire(asks)),
    renew: (renewals) => note('renew', renewals, () => store.renew(renewals)),
    release: (claims) => note('release', claims, () => store.release(claims)),
    list: (query) => store.list(query),
    evict: (key, grant) => store.evict(key, grant),
    ...(store.watch && { watch: store.watch.bind(store) }),
    close: () => store.close(),
  }
}

/** The kinds first, of what caused it too: a mistake in a program must show, however long the words are. */
function told(error: unknown): string {
  const kinds: string[] = []
  for (let one = error; one instanceof Error && kinds.length < 5; one = one.cause) kinds.push(one.name)
  return `${kinds.join(', by ')}: ${describeError(error)}`.slice(0, 200)
}

function brief(answer: AnyAnswer): number | 'yes' | 'no' | 'fault' {
  if ('error' in answer) return 'fault'
  if ('released' in answer) return answer.released ? 'yes' : 'no'
  return 'grant' in answer ? answer.grant : 'no'
}

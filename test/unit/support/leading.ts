import type { Term } from '../../../src/election.ts'

/** The body of an election that heeds its signal, and the terms that it was called with. */
export function leading(): { terms: Term[]; body: (term: Term) => Promise<void> } {
  const terms: Term[] = []
  const body = async (term: Term): Promise<void> => {
    terms.push(term)
    await new Promise<void>((resolve) => term.signal.addEventListener('abort', () => resolve()))
  }
  return { terms, body }
}

interface Fanout {
  readonly runs: Set<() => void>
  readonly listener: () => void
}

const fanouts = new WeakMap<AbortSignal, Fanout>()

const nothing = (): void => {}

/**
 * Calls `run` when the signal aborts, and before it returns if the signal is aborted already, of which no listener
 * hears; the result undoes it. One listener per signal, however many wait on it: a shutdown signal may stop thousands
 * of waiters, and Node warns of a leak from eleven on.
 */
export function onAbort(signal: AbortSignal, run: () => void): () => void {
  if (signal.aborted) {
    run()
    return nothing
  }
  const fanout = fanouts.get(signal) ?? listen(signal)
  // A set of its own functions, so that the same `run` may be added twice.
  const entry = (): void => run()
  fanout.runs.add(entry)
  return () => {
    fanout.runs.delete(entry)
    if (fanout.runs.size > 0 || fanouts.get(signal) !== fanout) return
    fanouts.delete(signal)
    signal.removeEventListener('abort', fanout.listener)
  }
}

function listen(signal: AbortSignal): Fanout {
  const runs = new Set<() => void>()
  const fanout = {
    runs,
    listener: () => {
      for (const run of [...runs]) run()
    },
  }
  fanouts.set(signal, fanout)
  signal.addEventListener('abort', fanout.listener)
  return fanout
}

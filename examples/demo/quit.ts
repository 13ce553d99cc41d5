import { constants } from 'node:os'

/** Raw input: Ctrl-C, Ctrl-D and Ctrl-\ arrive as bytes then, not as signals. */
const QUIT_KEYS = ['q', 'Q', '\x03', '\x04', '\x1c']

export interface Quitting {
  readonly signal: AbortSignal
  /** 0 unless a signal told us to end. */
  readonly exitCode: number
  close(): void
}

/** Everything that can end the demonstration early: a key, a signal, a closed pipe, the time. */
export function quitting(limitMs: number): Quitting {
  const controller = new AbortController()
  let exitCode = 0
  const onSignal = (signal: NodeJS.Signals): void => {
    exitCode = 128 + constants.signals[signal]
    controller.abort()
  }
  const onKeys = (keys: Buffer): void => {
    if (QUIT_KEYS.some((key) => keys.toString().includes(key))) controller.abort()
  }
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  for (const signal of signals) process.on(signal, onSignal)
  // Whoever reads our output has gone, as in `npm start | head`.
  process.stdout.on('error', () => controller.abort())
  const timer = limitMs === Infinity ? undefined : setTimeout(() => controller.abort(), limitMs)
  const { stdin } = process
  const raw = process.stdout.isTTY && stdin.isTTY
  if (raw) stdin.setRawMode(true).on('data', onKeys)
  return {
    signal: controller.signal,
    get exitCode() {
      return exitCode
    },
    close() {
      clearTimeout(timer)
      for (const signal of signals) process.off(signal, onSignal)
      if (raw) stdin.setRawMode(false).off('data', onKeys).pause()
    },
  }
}

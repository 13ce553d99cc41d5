import { constants } from 'node:os'
import type { Action } from './shop.ts'

/** Raw input: Ctrl-C, Ctrl-D and Ctrl-\ arrive as bytes then, not as signals. */
const QUIT_KEYS = ['q', 'Q', '\x03', '\x04', '\x1c']
const LOOK_MS = 250
const ACTIONS: Readonly<Record<string, Action>> = { k: 'kill', p: 'pause', l: 'locks' }

export interface Keys {
  /** Aborted by a key, a signal, a pipe that nobody reads any more, or when `npm start` has been ended. */
  readonly quit: AbortSignal
  /** 0 unless a signal told us to end. */
  readonly exitCode: number
  close(): void
}

export function listenToKeys(onAction: (action: Action) => void): Keys {
  const controller = new AbortController()
  let exitCode = 0
  const onSignal = (signal: NodeJS.Signals): void => {
    exitCode = 128 + constants.signals[signal]
    controller.abort()
  }
  const onKeys = (keys: Buffer): void => {
    for (const key of keys.toString()) {
      if (QUIT_KEYS.includes(key)) controller.abort()
      const action = ACTIONS[key.toLowerCase()]
      if (action) onAction(action)
    }
  }
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  for (const signal of signals) process.on(signal, onSignal)
  process.stdout.on('error', () => controller.abort())
  const end = onEndOfNpm(() => controller.abort())
  const { stdin } = process
  const raw = process.stdout.isTTY && stdin.isTTY
  if (raw) stdin.setRawMode(true).on('data', onKeys)
  return {
    quit: controller.signal,
    get exitCode() {
      return exitCode
    },
    close() {
      end()
      for (const signal of signals) process.off(signal, onSignal)
      if (raw) stdin.setRawMode(false).off('data', onKeys).pause()
    },
  }
}

/**
 * npm passes a signal to the shell that it starts us with. Most shells become us; dash ends and does not pass the signal
 * on, and all that tells us is another parent.
 */
function onEndOfNpm(quit: () => void): () => void {
  if (process.env['npm_lifecycle_event'] !== 'start') return () => {}
  const shell = process.ppid
  const timer = setInterval(() => process.ppid !== shell && quit(), LOOK_MS)
  return () => clearInterval(timer)
}

/**
 * A schedule is plain data: who runs what and what goes wrong when. With its seed it decides a run
 * completely, so it can be printed, cut down and run again.
 */
export interface Schedule {
  /** Decides what the data leaves open: latencies, which message is lost, jitter. */
  readonly seed: number
  readonly server: ServerPlan
  readonly network: NetworkPlan
  /** From here on nothing goes wrong any more. Clocks keep their rates. */
  readonly calmAt: number
  readonly processes: readonly ProcessPlan[]
  readonly tasks: readonly TaskPlan[]
  readonly faults: readonly FaultPlan[]
}

export interface ServerPlan {
  /** Milliseconds since 1970 at the start of the run. */
  readonly clockOffset: number
  readonly clockRate: number
  /** Whether the store has `watch`. */
  readonly push: boolean
}

/** Chances are per message, until `calmAt`. */
export interface NetworkPlan {
  readonly latencyMs: readonly [least: number, most: number]
  readonly loss: number
  readonly double: number
  /** Delayed by up to several seconds, past any time limit of a call. */
  readonly late: number
  /** The call fails at once although the server may have executed it. */
  readonly reset: number
  /** One item of a batch answers with a fault, executed or not. */
  readonly itemFault: number
  readonly pushLoss: number
  readonly pushSpurious: number
}

export interface ProcessPlan {
  readonly clockOffset: number
  readonly clockRate: number
  /** Timers drop the fraction of a delay and come late, as setTimeout does. */
  readonly coarseTimers: boolean
  readonly timerLatenessMs: number
  /** Chance that code stands still for up to `stallMs` where it reads the clock. */
  readonly stallChance: number
  readonly stallMs: number
  readonly callTimeout: number
  readonly poll: { readonly min: number; readonly max: number }
}

/**
 * The largest difference of clock rates that a margin of 5 % covers: 1.025 / 0.975 < 1 / 0.95. Within
 * it no two processes may believe that they hold a key; beyond it only the store's clock is promised.
 */
export const STEADY_RATES: readonly [slowest: number, fastest: number] = [0.975, 1.025]

export interface AttemptOptions {
  readonly wait?: number | 'forever'
  readonly lease?: number
  readonly renew?: boolean
  readonly reentrant?: boolean
  readonly rotateToken?: number
  readonly atLeast?: number
  readonly onLost?: 'throw' | 'ignore'
}

export interface TaskPlan {
  readonly id: number
  readonly process: number
  readonly at: number
  readonly how: 'using' | 'acquire' | 'tryAcquire'
  readonly key: number
  readonly options: AttemptOptions
  /** Its AbortSignal fires after this long. */
  readonly giveUpAfter?: number
  /** Ends its work when it is told of a loss. A body that does not is the dangerous kind. */
  readonly heedsLoss: boolean
  readonly body: readonly Step[]
}

export type Step =
  | { readonly do: 'work'; readonly ms: number }
  | { readonly do: 'extend'; readonly lease?: number }
  /** `using` inside the body: of the same key, unless `key` names another. */
  | {
      readonly do: 'nest'
      readonly key?: number
      readonly options: AttemptOptions
      readonly body: readonly Step[]
    }
  /** `Promise.all` of several `using` of the same key. */
  | { readonly do: 'siblings'; readonly count: number; readonly ms: number }
  | { readonly do: 'throw' }

export type FaultPlan =
  | { readonly at: number; readonly do: 'pause'; readonly process: number; readonly ms: number }
  | { readonly at: number; readonly do: 'crash'; readonly process: number }
  | { readonly at: number; readonly do: 'close'; readonly process: number }
  /** `way`: messages from the process get lost, those to it, or both. */
  | {
      readonly at: number
      readonly do: 'cut'
      readonly process: number
      readonly ms: number
      readonly way: 'there' | 'back' | 'both'
    }
  /** The server accepts messages but works on none of them until it thaws. */
  | { readonly at: number; readonly do: 'freeze'; readonly ms: number }
  | { readonly at: number; readonly do: 'slow'; readonly ms: number; readonly factor: number }
  /** Connections are refused. */
  | { readonly at: number; readonly do: 'down'; readonly ms: number }
  /** State survives, connections and unread messages do not. `silent`: nobody is told. */
  | { readonly at: number; readonly do: 'restart'; readonly silent: boolean }
  | { readonly at: number; readonly do: 'forget' }
  /** An operator's forceRelease, through this process. */
  | { readonly at: number; readonly do: 'evict'; readonly process: number; readonly key: number }

export function keyName(key: number): string {
  return `key-${key}`
}

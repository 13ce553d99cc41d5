import { closingGuarantees } from './guarantees-closing.ts'
import { invalid } from '../option-check.ts'
import { exclusionGuarantees } from './guarantees-exclusion.ts'
import { processGuarantees } from './guarantees-processes.ts'
import { replyGuarantees } from './guarantees-replies.ts'
import { pushGuarantees, waitingGuarantees } from './guarantees-waiting.ts'
import { settingsOf } from './options.ts'
import type { ConformanceOptions, Runner } from './options.ts'
import { Stage } from './stage.ts'
import type { Test } from './stage.ts'
import { acquireSteps } from './steps-acquire.ts'
import { batchSteps } from './steps-batches.ts'
import { clientSteps } from './steps-clients.ts'
import { evictSteps } from './steps-evict.ts'
import { expirySteps } from './steps-expiry.ts'
import { grantSteps } from './steps-grants.ts'
import { hostileSteps } from './steps-hostile.ts'
import { listSteps } from './steps-list.ts'
import { releaseSteps } from './steps-release.ts'
import { renewSteps } from './steps-renew.ts'
import { repeatSteps } from './steps-repeats.ts'
import { wantedSteps } from './steps-wanted.ts'
import { noWatchSteps, watchSteps } from './steps-watch.ts'
import { within } from './timing.ts'

export type { ConformanceOptions, ProcessOptions, Runner } from './options.ts'

// The runner's own limit comes after ours, which says what hangs.
const RUNNER_SLACK_MS = 30_000

/**
 * Registers the tests that every store must pass: the contract in `Store` step by step, then the
 * guarantees end to end through `createLocks`. See `docs/writing-a-store.md`.
 */
export function storeConformance(runner: Runner, options: ConformanceOptions): void {
  if (typeof runner?.describe !== 'function' || typeof runner.it !== 'function')
    throw invalid('storeConformance: give `describe` and `it` of a test runner, then the options')
  const settings = settingsOf(options)

  const test: Test = (name, run, limitMs = settings.limitMs) => {
    // No parameters: jest and node:test take a function with one for a callback style.
    const body = async (): Promise<void> => {
      await settings.reset()
      const stage = new Stage(settings)
      try {
        await within(name, limitMs, run(stage))
      } catch (error) {
        // The test's own failure is the one to show.
        await stage.end().catch(() => undefined)
        throw error
      }
      await stage.end()
    }
    runner.it(name, body, limitMs + RUNNER_SLACK_MS)
  }
  const topic = (name: string, register: (test: Test) => void): void => {
    runner.describe(name, () => register(test))
  }

  runner.describe(`${settings.name} store`, () => {
    topic('clients', clientSteps)
    topic('acquire', acquireSteps)
    topic('wanted', wantedSteps)
    topic('expiry', expirySteps)
    topic('renew', renewSteps)
    topic('release', releaseSteps)
    topic('evict', evictSteps)
    topic('grants', grantSteps)
    topic('repeats', repeatSteps)
    topic('list', listSteps)
    topic('hostile input', hostileSteps)
    topic('large batches', batchSteps)
    topic('watch', settings.push ? watchSteps : noWatchSteps)
    topic('exclusion', exclusionGuarantees)
    topic('lost replies', replyGuarantees)
    topic('waiting', waitingGuarantees)
    if (settings.push) topic('push', pushGuarantees)
    topic('closing', closingGuarantees)
    if (settings.processes) topic('processes', processGuarantees)
  })
}

import type { JSX } from 'preact'
import type { LockStats } from '../monitor/stats.ts'
import { Card } from './card.tsx'
import { counted, lasting, t } from './preferences.ts'
import type { Word } from './words/en.ts'

const COUNTERS = [
  'requests',
  'granted',
  'handedOff',
  'reentered',
  'takenOver',
  'timedOut',
  'aborted',
  'failed',
  'released',
  'lost',
  'evicted',
  'renewals',
  'renewalFailures',
] as const
/** Above zero, someone should look. */
const WORRYING: ReadonlySet<string> = new Set(['failed', 'lost', 'renewalFailures'])
const STEPS = ['acquire', 'renew', 'release'] as const

/** How well calls are shared, step by step. */
export function Batches({ stats }: { stats: LockStats }): JSX.Element {
  return (
    <Card title="health.batches">
      <p class="hint">{t('health.batchesNote')}</p>
      <div class="wide" tabIndex={0} role="region" aria-label={t('health.batches')}>
        <table class="plain">
          <thead>
            <tr>
              <th scope="col">{t('health.step')}</th>
              {(['health.calls', 'health.keys', 'health.perCall', 'health.failures'] as const).map((word) => (
                <th key={word} scope="col" class="number">
                  {t(word)}
                </th>
              ))}
              <th scope="col" class="number">
                p99
              </th>
            </tr>
          </thead>
          <tbody>
            {STEPS.map((step) => {
              const { calls, keys, failures, latency } = stats.steps[step]
              return (
                <tr key={step}>
                  <th scope="row">{t(`step.${step}`)}</th>
                  <td class="number">{counted(calls)}</td>
                  <td class="number">{counted(keys)}</td>
                  <td class="number">{calls === 0 ? '–' : (keys / calls).toFixed(1)}</td>
                  <td class={`number ${failures > 0 ? 'worry' : ''}`}>{counted(failures)}</td>
                  <td class="number">{latency.count === 0 ? '–' : lasting(latency.p99)}</td>
                </tr>
              )
            })}
          </tbody>
        </table>
      </div>
    </Card>
  )
}

export function Counters({ stats }: { stats: LockStats }): JSX.Element {
  return (
    <Card title="health.counters">
      <dl class="figures">
        <Counter word="counter.held" n={stats.held} />
        <Counter word="counter.waitingNow" n={stats.waiting} />
        {COUNTERS.map((name) => (
          <Counter key={name} word={`counter.${name}`} n={stats[name]} worry={WORRYING.has(name)} />
        ))}
      </dl>
    </Card>
  )
}

function Counter({ word, n, worry = false }: { word: Word; n: number; worry?: boolean }): JSX.Element {
  return (
    <div>
      <dt>{t(word)}</dt>
      <dd class={`number ${worry && n > 0 ? 'worry' : ''}`}>{counted(n)}</dd>
    </div>
  )
}

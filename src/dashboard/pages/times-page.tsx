import type { JSX } from 'preact'
import type { HistogramSnapshot } from '../../monitor/histogram.ts'
import type { LockStats } from '../../monitor/stats.ts'
import { BarChart } from '../bar-chart.tsx'
import { Empty } from '../empty.tsx'
import { LineChart } from '../line-chart.tsx'
import { counted, lasting, t } from '../preferences.ts'
import { NeedsStats, Scope } from '../scope.tsx'
import { samples } from '../stats-feed.ts'
import type { Word } from '../words/en.ts'

interface Topic {
  readonly title: Word
  readonly note: Word
  readonly pick: (stats: LockStats) => HistogramSnapshot
}

const TOPICS: readonly Topic[] = [
  { title: 'times.wait', note: 'times.waitNote', pick: (stats) => stats.wait },
  { title: 'times.hold', note: 'times.holdNote', pick: (stats) => stats.hold },
  { title: 'times.acquire', note: 'times.stepNote', pick: (stats) => stats.steps.acquire.latency },
  { title: 'times.renew', note: 'times.stepNote', pick: (stats) => stats.steps.renew.latency },
  { title: 'times.release', note: 'times.stepNote', pick: (stats) => stats.steps.release.latency },
]

/** How long things take: waiting, holding, the store. */
export function TimesPage(): JSX.Element {
  return (
    <div class="page">
      <h1 tabIndex={-1}>{t('page.times')}</h1>
      <NeedsStats>
        {({ stats }) => (
          <>
            <Scope />
            <div class="pair">
              {TOPICS.map((topic) => (
                <TopicCard key={topic.title} topic={topic} times={topic.pick(stats)} />
              ))}
            </div>
          </>
        )}
      </NeedsStats>
    </div>
  )
}

function TopicCard({ topic, times }: { topic: Topic; times: HistogramSnapshot }): JSX.Element {
  const title = t(topic.title)
  return (
    <section class="card">
      <h2>{title}</h2>
      <p class="hint">{t(topic.note)}</p>
      {times.count === 0 ? (
        <Empty>{t('times.none')}</Empty>
      ) : (
        <>
          <dl class="figures">
            <Figure name="p50" value={lasting(times.p50)} series={1} />
            <Figure name="p95" value={lasting(times.p95)} series={2} />
            <Figure name="p99" value={lasting(times.p99)} series={3} />
            <Figure name={t('times.max')} value={lasting(times.maxMs)} />
          </dl>
          <h3>{t('times.overTime')}</h3>
          <LineChart what={title} points={samples.points(topic.pick)} />
          <h3>
            {t('times.spread')} · {t('times.count', { n: counted(times.count) })}
          </h3>
          <BarChart what={title} times={times} />
        </>
      )}
    </section>
  )
}

function Figure({ name, value, series }: { name: string; value: string; series?: number }): JSX.Element {
  return (
    <div>
      <dt class={series ? `series-${series}` : undefined}>{name}</dt>
      <dd class="number">{value}</dd>
    </div>
  )
}

import type { ComponentChildren, JSX } from 'preact'
import type { StatsJson } from '../server/wire.ts'
import { Empty } from './empty.tsx'
import { plain, t } from './preferences.ts'
import { askStats, stats, statsError } from './stats-feed.ts'

/** Whose numbers these are: a fleet has as many as it has processes. */
export function Scope(): JSX.Element | null {
  if (!stats.value) return null
  const { service, instance } = stats.value.client
  if (stats.value.fleet) return <p class="hint">{t('scope.fleet')}</p>
  return (
    <p class="hint">{t('scope.client', { service: plain(service, 60), instance: plain(instance, 60) })}</p>
  )
}

/** Numbers, or why there are none. Old ones stay while the server is away; the strip says so. */
export function NeedsStats({ children }: { children: (json: StatsJson) => ComponentChildren }): JSX.Element {
  if (stats.value) return <>{children(stats.value)}</>
  if (statsError.value === null) return <Empty>{t('strip.connecting')}</Empty>
  return (
    <Empty title={t('error.title')}>
      <p>{plain(statsError.value)}</p>
      <button type="button" onClick={() => void askStats()}>
        {t('error.retry')}
      </button>
    </Empty>
  )
}

import type { JSX } from 'preact'
import { now } from './clock.ts'
import { connection, reconnect, storeWord } from './live.ts'
import { lasting, plain, t, ticking } from './preferences.ts'
import { hrefOf } from './route.ts'
import { stats } from './stats-feed.ts'

/** Below the header on every page: can what is shown be trusted, and may one act on it. */
export function Strip(): JSX.Element {
  return (
    <section class="strip" aria-label={t('strip.label')}>
      <div class="chips" role="status">
        <StoreChip />
        <ConnectionChip />
      </div>
      <Rights />
      <Alerts />
      {stats.value?.server.limited && (
        <span class="chip warn" title={plain(stats.value.server.limited)}>
          {t('strip.limited')}
        </span>
      )}
    </section>
  )
}

function StoreChip(): JSX.Element {
  const store = plain(stats.value?.client.store ?? '', 40)
  // Whichever of the two has bad news.
  const errors = [stats.value?.store.error, storeWord.value?.error]
  const bad = stats.value?.store.ok === false || storeWord.value?.ok === false
  if (bad) {
    const why = plain(errors.find(Boolean) ?? '')
    return (
      <span class="chip bad" title={why}>
        <i class="dot" />
        {t('strip.storeBad', { store })}
      </span>
    )
  }
  // What was last heard of it is not what it is now.
  const away = connection.value.state === 'waiting'
  if (!stats.value || away) return <span class="chip">{t('strip.storeUnknown')}</span>
  const { latencyMs } = stats.value.store
  return (
    <span class="chip good">
      <i class="dot" />
      {t('strip.storeOk', { store })}
      {latencyMs !== null && <small aria-hidden="true">{lasting(latencyMs)}</small>}
    </span>
  )
}

function ConnectionChip(): JSX.Element {
  const { value } = connection
  switch (value.state) {
    case 'live':
      return (
        <span class="chip good">
          <i class="dot beat" />
          {t('strip.live')}
        </span>
      )
    case 'connecting':
      return <span class="chip">{t('strip.connecting')}</span>
    case 'locked':
      return <span class="chip warn">{t('strip.locked')}</span>
    case 'waiting':
      return (
        <span class="chip warn" title={plain(value.why)}>
          <i class="dot" />
          {/* Not read out again with each second. */}
          <span aria-live="off">{t('strip.reconnecting', { in: ticking(value.at - now.value) })}</span>
          <button type="button" class="link" onClick={reconnect}>
            {t('strip.retry')}
          </button>
        </span>
      )
  }
}

function Rights(): JSX.Element | null {
  if (!stats.value || stats.value.server.mayRelease) return null
  const why = t(stats.value.server.readOnly ? 'strip.readOnlyWhy' : 'strip.noTokenWhy')
  return (
    <span class="chip" title={why}>
      <span>{t('strip.readOnly')}</span>
      <span class="unseen">{why}</span>
    </span>
  )
}

function Alerts(): JSX.Element | null {
  const n = stats.value?.alerts.length ?? 0
  if (n === 0) return null
  return (
    <a class="chip bad" href={hrefOf('health')}>
      {n === 1 ? t('strip.alert') : t('strip.alerts', { n })}
    </a>
  )
}

import type { JSX } from 'preact'
import type { Alert } from '../../alerts/alert.ts'
import type { LockStats } from '../../monitor/stats.ts'
import type { StatsJson } from '../../server/wire.ts'
import { Card } from '../card.tsx'
import { Batches, Counters } from '../client-numbers.tsx'
import { Empty } from '../empty.tsx'
import { shownKey } from '../format.ts'
import { counted, lasting, plain, t, ticking } from '../preferences.ts'
import { hrefOf } from '../route.ts'
import { NeedsStats, Scope } from '../scope.tsx'

/** Is the store well, is the server, and what is wrong now. */
export function HealthPage(): JSX.Element {
  return (
    <div class="page">
      <h1 tabIndex={-1}>{t('page.health')}</h1>
      <NeedsStats>
        {(json) => (
          <>
            <Alerts alerts={json.alerts} />
            <div class="pair thirds">
              <Store json={json} />
              <Pool pool={json.stats.pool} />
              <Server json={json} />
            </div>
            <Scope />
            <div class="pair">
              <Batches stats={json.stats} />
              <Counters stats={json.stats} />
            </div>
          </>
        )}
      </NeedsStats>
    </div>
  )
}

function Alerts({ alerts }: { alerts: readonly Alert[] }): JSX.Element {
  return (
    <Card title="health.alerts">
      {alerts.length === 0 ? (
        <Empty>{t('health.noAlerts')}</Empty>
      ) : (
        <ul class="alerts">
          {alerts.map((alert) => (
            <li key={alert.incident}>
              <span class="tag bad">{t(`alert.${alert.kind}`)}</span>
              <span>
                {plain(alert.message)}{' '}
                {alert.key !== null && (
                  <a href={hrefOf('lock', { key: alert.key })}>{shownKey(alert.key, 60)}</a>
                )}
              </span>
              <small class="number">{t('health.onFor', { time: ticking(alert.lastedMs) })}</small>
            </li>
          ))}
        </ul>
      )}
    </Card>
  )
}

function Store({ json: { store, client } }: { json: StatsJson }): JSX.Element {
  return (
    <Card title="health.store">
      <dl>
        <dt>{t('health.store')}</dt>
        <dd>{plain(client.store, 80)}</dd>
        <dt>{t('health.state')}</dt>
        <dd>
          <span class={`tag ${store.ok ? 'good' : 'bad'}`}>
            {t(store.ok ? 'health.ok' : 'health.degraded')}
          </span>
        </dd>
        <dt>{t('health.latency')}</dt>
        <dd class="number">{store.latencyMs === null ? '–' : lasting(store.latencyMs)}</dd>
        {store.error !== null && (
          <>
            <dt>{t('health.error')}</dt>
            <dd>{plain(store.error)}</dd>
          </>
        )}
      </dl>
    </Card>
  )
}

function Pool({ pool }: { pool: LockStats['pool'] }): JSX.Element {
  return (
    <Card title="health.pool">
      {pool === null ? (
        <Empty>{t('health.noPool')}</Empty>
      ) : (
        <dl>
          <dt>{t('health.open')}</dt>
          <dd class="number">{counted(pool.open)}</dd>
          <dt>{t('health.idle')}</dt>
          <dd class="number">{counted(pool.idle)}</dd>
          <dt>{t('health.waiting')}</dt>
          <dd class={`number ${pool.waiting > 0 ? 'worry' : ''}`}>{counted(pool.waiting)}</dd>
        </dl>
      )}
    </Card>
  )
}

function Server({ json: { client, server } }: { json: StatsJson }): JSX.Element {
  const no = server.readOnly ? 'health.noReadOnly' : 'health.noToken'
  return (
    <Card title="health.server">
      <dl>
        <dt>{t('health.service')}</dt>
        <dd>{plain(client.service, 80)}</dd>
        <dt>{t('health.instance')}</dt>
        <dd>{plain(client.instance, 80)}</dd>
        <dt>{t('health.version')}</dt>
        <dd>{plain(server.version, 40)}</dd>
        <dt>{t('health.up')}</dt>
        <dd class="number">{ticking(server.upMs)}</dd>
        <dt>{t('health.rights')}</dt>
        <dd>{t(server.mayRelease ? 'health.yes' : no)}</dd>
        {server.limited !== null && (
          <>
            <dt>{t('health.limited')}</dt>
            <dd>{plain(server.limited)}</dd>
          </>
        )}
      </dl>
    </Card>
  )
}

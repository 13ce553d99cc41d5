import type { JSX } from 'preact'
import type { BusyKey } from '../../monitor/busy-keys.ts'
import type { Conflict } from '../../monitor/conflicts.ts'
import { now } from '../clock.ts'
import { Empty } from '../empty.tsx'
import { shownKey, visible } from '../format.ts'
import { table, version } from '../live.ts'
import { counted, lasting, plain, t, ticking } from '../preferences.ts'
import { hrefOf } from '../route.ts'
import { NeedsStats, Scope } from '../scope.tsx'

const SHOWN = 20

/** Who is in whose way. */
export function ContentionPage(): JSX.Element {
  return (
    <div class="page">
      <h1 tabIndex={-1}>{t('page.contention')}</h1>
      <WantedNow />
      <NeedsStats>
        {({ stats }) => (
          <>
            <Scope />
            <div class="pair">
              <section class="card">
                <h2>{t('contention.matrix')}</h2>
                <p class="hint">{t('contention.matrixNote')}</p>
                <Matrix conflicts={stats.conflicts} />
              </section>
              <section class="card">
                <h2>{t('contention.busiest')}</h2>
                <p class="hint">{t('contention.busiestNote')}</p>
                <Busiest keys={stats.busiest} />
              </section>
            </div>
          </>
        )}
      </NeedsStats>
    </div>
  )
}

function KeyLink({ name }: { name: string }): JSX.Element {
  return (
    <a href={hrefOf('lock', { key: name })} title={visible(name)}>
      <bdi>{shownKey(name, 60)}</bdi>
    </a>
  )
}

function WantedNow(): JSX.Element {
  void version.value
  const rows = table.wanted()
  return (
    <section class="card">
      <h2>{t('contention.wantedNow')}</h2>
      <p class="hint">{t('contention.wantedNote')}</p>
      {rows.length === 0 ? (
        <Empty>{t('contention.noWanted')}</Empty>
      ) : (
        <table class="plain">
          <thead>
            <tr>
              <th scope="col">{t('column.key')}</th>
              <th scope="col">{t('lock.holder')}</th>
              <th scope="col" class="number">
                {t('column.held')}
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, SHOWN).map(({ lock, takenAt }) => (
              <tr key={lock.key}>
                <td>
                  <KeyLink name={lock.key} />
                </td>
                <td>
                  <bdi>{plain(lock.service, 40)}</bdi>
                </td>
                <td class="number">{ticking(now.value - takenAt)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {rows.length > SHOWN && (
        <a class="more" href={hrefOf('locks', { wanted: '1', sort: 'held', desc: '1' })}>
          {t('contention.more', { n: counted(rows.length - SHOWN) })}
        </a>
      )}
    </section>
  )
}

function Matrix({ conflicts }: { conflicts: readonly Conflict[] }): JSX.Element {
  if (conflicts.length === 0) return <Empty>{t('contention.noMatrix')}</Empty>
  const waiters = [...new Set(conflicts.map(({ waiter }) => waiter))]
  const holders = [...new Set(conflicts.map(({ holder }) => holder))]
  const most = Math.max(...conflicts.map(({ count }) => count))
  const countOf = (waiter: string, holder: string): number =>
    conflicts.find((one) => one.waiter === waiter && one.holder === holder)?.count ?? 0
  return (
    <div class="wide" tabIndex={0} role="region" aria-label={t('contention.matrix')}>
      <table class="plain matrix">
        <thead>
          <tr>
            <th scope="col" class="corner">
              {t('contention.waiter')} ↓ · {t('contention.holder')} →
            </th>
            {holders.map((holder) => (
              <th key={holder} scope="col" class="number">
                <bdi>{plain(holder, 24)}</bdi>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {waiters.map((waiter) => (
            <tr key={waiter}>
              <th scope="row">
                <bdi>{plain(waiter, 24)}</bdi>
              </th>
              {holders.map((holder) => {
                const count = countOf(waiter, holder)
                return (
                  <td key={holder} class={`number heat-${heat(count, most)}`}>
                    {counted(count)}
                  </td>
                )
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** 0 to 4, by magnitude: one busy pair would hide all others. */
function heat(count: number, most: number): number {
  return count === 0 ? 0 : 1 + Math.round((3 * Math.log(count)) / Math.log(Math.max(2, most)))
}

function Busiest({ keys }: { keys: readonly BusyKey[] }): JSX.Element {
  if (keys.length === 0) return <Empty>{t('contention.noBusiest')}</Empty>
  return (
    <table class="plain">
      <thead>
        <tr>
          <th scope="col">{t('column.key')}</th>
          <th scope="col" class="number">
            {t('contention.requests')}
          </th>
          <th scope="col" class="number">
            {t('contention.conflicts')}
          </th>
          <th scope="col" class="number">
            {t('contention.waited')}
          </th>
        </tr>
      </thead>
      <tbody>
        {keys.map(({ key, requests, overcount, conflicts, waitedMs }) => (
          <tr key={key}>
            <td>
              <KeyLink name={key} />
            </td>
            <td class="number">
              {counted(requests)}
              {overcount > 0 && <small> ±{counted(overcount)}</small>}
            </td>
            <td class="number">{counted(conflicts)}</td>
            <td class="number">{lasting(waitedMs)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

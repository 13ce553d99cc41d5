import type { JSX } from 'preact'
import type { TurnJson } from '../server/wire.ts'
import { Empty } from './empty.tsx'
import { dateTime, lasting, plain, t } from './preferences.ts'

/** Who had a key before, newest first. */
export function History({ turns }: { turns: readonly TurnJson[] }): JSX.Element {
  if (turns.length === 0) return <Empty>{t('lock.noHistory')}</Empty>
  return (
    <div class="wide" tabIndex={0} role="region" aria-label={t('lock.history')}>
      <table class="plain">
        <thead>
          <tr>
            <th scope="col">{t('lock.since')}</th>
            <th scope="col">{t('lock.holder')}</th>
            <th scope="col">{t('column.context')}</th>
            <th scope="col" class="number">
              {t('column.held')}
            </th>
            <th scope="col" class="number">
              {t('lock.grant')}
            </th>
            <th scope="col">{t('lock.end')}</th>
          </tr>
        </thead>
        <tbody>
          {turns.map((turn) => (
            <tr key={turn.grant}>
              <td class="time">{dateTime(turn.since)}</td>
              <td>
                <bdi>{holderOf(turn)}</bdi>
              </td>
              <td>
                <bdi>{plain(turn.context ?? '', 120)}</bdi>
              </td>
              <td class="number">{lasting(turn.heldMs)}</td>
              <td class="number">{turn.grant}</td>
              <td>
                <span class={`tag ${turn.end === 'forced' ? 'bad' : turn.end === 'held' ? 'good' : ''}`}>
                  {t(`end.${turn.end}`)}
                </span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

export function holderOf({ service, instance }: Pick<TurnJson, 'service' | 'instance'>): string {
  return `${plain(service, 80)} ${plain(instance, 80)}`
}

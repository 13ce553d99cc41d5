import type { JSX } from 'preact'
import { now } from './clock.ts'
import { t, ticking } from './preferences.ts'

/** What is left of a lease, counted down here between two words of the server. */
export function Remaining({ endsAt, leaseMs }: { endsAt: number; leaseMs: number }): JSX.Element {
  const left = Math.max(0, endsAt - now.value)
  const share = leaseMs > 0 ? Math.min(1, left / leaseMs) : 0
  // A holder renews at a third of its lease: below that, it should have.
  const level = share < 0.15 ? 'bad' : share < 0.34 ? 'warn' : ''
  return (
    <span class="remaining">
      <span class={`bar ${level}`} aria-hidden="true">
        <i style={{ transform: `scaleX(${share.toFixed(3)})` }} />
      </span>
      <span class="number">{ticking(left)}</span>
    </span>
  )
}

export function Wanted({ wanted }: { wanted: boolean }): JSX.Element {
  return wanted ? (
    <span class="tag warn" title={t('wanted.yesLong')}>
      {t('wanted.yes')}
    </span>
  ) : (
    <span class="unseen">{t('wanted.no')}</span>
  )
}

import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import type { LockDetailJson, LockJson, ReleasedJson } from '../../server/wire.ts'
import { readLock } from '../api.ts'
import { now } from '../clock.ts'
import { Empty } from '../empty.tsx'
import { cut, visible } from '../format.ts'
import { table, version } from '../live.ts'
import { type Row, rowOf } from '../lock-table.ts'
import { dateTime, lasting, plain, t, ticking } from '../preferences.ts'
import { holderOf, History } from '../history.tsx'
import { ReleaseDialog } from '../release-dialog.tsx'
import { Remaining, Wanted } from '../remaining.tsx'
import { hrefOf } from '../route.ts'
import { lastLocks } from '../router.ts'
import { stats } from '../stats-feed.ts'

const PAUSE_MS = 5000

/** One key: who has it, who had it, and the way to take it from them. */
export function LockPage({ name }: { name: string }): JSX.Element {
  void version.value
  const row = table.get(name)
  const { detail, loaded, error } = useDetail(name, row?.lock.grant)
  const freeing = useSignal<LockJson | null>(null)
  const freed = useSignal<ReleasedJson | null>(null)
  // Beyond its limit the stream leaves keys out, and the server still knows this one.
  const held = row ?? (stats.value?.server.limited && detail?.lock ? rowOf(detail.lock, loaded) : null)
  return (
    <div class="page narrow">
      <a class="back" href={hrefOf('locks', lastLocks.value)}>
        ← {t('lock.back')}
      </a>
      <div class="title">
        <h1 tabIndex={-1} class="whole-key">
          <bdi>{cut(visible(name), 600)}</bdi>
        </h1>
        <CopyKey name={name} />
      </div>
      {freed.value && (
        <p class="note good" role="status">
          {t('release.done', { holder: holderOf(freed.value.released), grant: freed.value.released.grant })}
        </p>
      )}
      {held ? (
        <Held row={held} context={contextOf(held.lock, detail)} onFree={() => (freeing.value = held.lock)} />
      ) : (
        <Free />
      )}
      <section>
        <h2>{t('lock.history')}</h2>
        <p class="hint">{t('lock.historyNote')}</p>
        {error ? (
          <Empty title={t('error.title')}>{plain(error)}</Empty>
        ) : (
          <History turns={detail?.history ?? []} />
        )}
      </section>
      {freeing.value && (
        <ReleaseDialog
          lock={freeing.value}
          onClose={() => (freeing.value = null)}
          onFreed={(answer) => {
            freeing.value = null
            freed.value = answer
          }}
        />
      )}
    </div>
  )
}

/** Asked again when the key passes on, and now and then. */
function useDetail(
  name: string,
  grant: number | undefined,
): { detail: LockDetailJson | null; loaded: number; error: string | null } {
  const state = useSignal<{ detail: LockDetailJson | null; loaded: number; error: string | null }>({
    detail: null,
    loaded: 0,
    error: null,
  })
  useEffect(() => {
    let over = false
    const load = async (): Promise<void> => {
      try {
        const detail = await readLock(name)
        if (!over) state.value = { detail, loaded: performance.now(), error: null }
      } catch (error) {
        if (!over) state.value = { ...state.value, error: (error as Error).message }
      }
    }
    void load()
    const timer = setInterval(() => {
      if (!document.hidden) void load()
    }, PAUSE_MS)
    return () => {
      over = true
      clearInterval(timer)
    }
  }, [name, grant])
  return state.value
}

function Free(): JSX.Element {
  return <Empty title={t('lock.free')}>{t('lock.freeText')}</Empty>
}

/** The stream cuts it. */
function contextOf({ grant, context }: LockJson, detail: LockDetailJson | null): string | null {
  return detail?.lock?.grant === grant ? detail.lock.context : context
}

function Held({
  row,
  context,
  onFree,
}: {
  row: Row
  context: string | null
  onFree: () => void
}): JSX.Element {
  const { lock } = row
  return (
    <section class="card">
      <dl>
        <dt>{t('column.service')}</dt>
        <dd>
          <bdi>{plain(lock.service)}</bdi>
        </dd>
        <dt>{t('column.instance')}</dt>
        <dd>
          <bdi>{plain(lock.instance)}</bdi>
        </dd>
        <dt>{t('column.context')}</dt>
        <dd>{context === null ? <em>{t('lock.noContext')}</em> : <bdi>{plain(context, 1000)}</bdi>}</dd>
        <dt>{t('lock.since')}</dt>
        <dd>{dateTime(lock.since)}</dd>
        <dt>{t('column.held')}</dt>
        <dd class="number">{ticking(now.value - row.takenAt)}</dd>
        <dt>{t('column.remaining')}</dt>
        <dd>
          <Remaining endsAt={row.endsAt} leaseMs={lock.leaseMs} />
        </dd>
        <dt>{t('lock.lease')}</dt>
        <dd class="number">{lasting(lock.leaseMs)}</dd>
        <dt>{t('lock.grant')}</dt>
        <dd class="number">{lock.grant}</dd>
        <dt>{t('lock.token')}</dt>
        <dd class="number">{lock.token}</dd>
        <dt>{t('column.wanted')}</dt>
        <dd>{lock.wanted ? <Wanted wanted /> : t('wanted.no')}</dd>
      </dl>
      {stats.value?.server.mayRelease && (
        <div class="actions">
          <button type="button" class="danger" onClick={onFree}>
            {t('release.open')}
          </button>
        </div>
      )}
    </section>
  )
}

function CopyKey({ name }: { name: string }): JSX.Element | null {
  const copied = useSignal(false)
  // Browsers offer it on loopback and over TLS only.
  if (!navigator.clipboard) return null
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(name)
    copied.value = true
    setTimeout(() => (copied.value = false), 2000)
  }
  return (
    <button type="button" onClick={() => void copy().catch(() => {})}>
      {t(copied.value ? 'lock.copied' : 'lock.copy')}
    </button>
  )
}

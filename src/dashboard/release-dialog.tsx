import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useId } from 'preact/hooks'
import type { LockJson, ReleasedJson } from '../server/wire.ts'
import { ApiError, releaseLock } from './api.ts'
import { Dialog } from './dialog.tsx'
import { cut, visible } from './format.ts'
import { plain, t } from './preferences.ts'

const MAX_REASON = 500

interface Props {
  /** As it was shown when the dialog opened: its grant, and no other, is taken away. */
  readonly lock: LockJson
  readonly onClose: () => void
  readonly onFreed: (answer: ReleasedJson) => void
}

export function ReleaseDialog({ lock, onClose, onFreed }: Props): JSX.Element {
  const typed = useSignal('')
  const why = useSignal('')
  const busy = useSignal(false)
  const failure = useSignal<string | null>(null)
  const [keyId, whyId] = [useId(), useId()]
  const shown = visible(lock.key)
  // What cannot be seen cannot be typed: the form in which the key is shown will do.
  const ready = (typed.value === lock.key || typed.value === shown) && why.value.trim() !== ''

  const submit = async (event: Event): Promise<void> => {
    event.preventDefault()
    if (!ready || busy.value) return
    busy.value = true
    failure.value = null
    try {
      onFreed(await releaseLock(lock, why.value.trim()))
    } catch (error) {
      failure.value = reasonOf(error)
      busy.value = false
    }
  }
  return (
    <Dialog title={t('release.title')} class="release" onClose={onClose}>
      <form onSubmit={(event) => void submit(event)}>
        <dl>
          <dt>{t('column.key')}</dt>
          <dd class="whole-key">
            <bdi>{cut(shown, 600)}</bdi>
          </dd>
          <dt>{t('lock.holder')}</dt>
          <dd>
            <bdi>{plain(lock.service)}</bdi> · <bdi>{plain(lock.instance)}</bdi>
          </dd>
          {lock.context !== null && (
            <>
              <dt>{t('column.context')}</dt>
              <dd>
                <bdi>{plain(lock.context)}</bdi>
              </dd>
            </>
          )}
          <dt>{t('lock.grant')}</dt>
          <dd class="number">{lock.grant}</dd>
        </dl>
        <p class="note warn">{t('release.warning')}</p>
        <label class="field" for={keyId}>
          {t('release.typeKey')}
          <input
            id={keyId}
            type="text"
            autocomplete="off"
            autocapitalize="off"
            spellcheck={false}
            value={typed.value}
            onInput={(event) => (typed.value = event.currentTarget.value)}
          />
        </label>
        <label class="field" for={whyId}>
          {t('release.reason')}
          <input
            id={whyId}
            type="text"
            autocomplete="off"
            maxLength={MAX_REASON}
            placeholder={t('release.reasonHint')}
            value={why.value}
            onInput={(event) => (why.value = event.currentTarget.value)}
          />
        </label>
        {failure.value !== null && (
          <p class="note bad" role="alert">
            {plain(failure.value)}
          </p>
        )}
        <div class="actions">
          <button type="button" onClick={onClose}>
            {t('release.cancel')}
          </button>
          <button type="submit" class="danger" disabled={!ready || busy.value}>
            {t(busy.value ? 'release.doing' : 'release.do')}
          </button>
        </div>
      </form>
    </Dialog>
  )
}

function reasonOf(error: unknown): string {
  if (!(error instanceof ApiError)) return t('error.network')
  if (error.status === 409) return t('release.moved')
  if (error.status === 404) return t('release.gone')
  return error.message
}

import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useId } from 'preact/hooks'
import { Dialog } from './dialog.tsx'
import { t } from './preferences.ts'
import { refused, giveToken } from './session.ts'

/** There while the server wants a token that it has not got. */
export function TokenDialog(): JSX.Element | null {
  return refused.value ? <Question wrong={refused.value.wrong} /> : null
}

function Question({ wrong }: { wrong: boolean }): JSX.Element {
  const given = useSignal('')
  const id = useId()
  const submit = (event: Event): void => {
    event.preventDefault()
    const token = given.value.trim()
    if (token !== '') giveToken(token)
  }
  return (
    <Dialog title={t('token.title')} onClose={null}>
      <form onSubmit={submit}>
        <p>{t('token.text')}</p>
        {wrong && (
          <p class="note bad" role="alert">
            {t('token.wrong')}
          </p>
        )}
        <label class="field" for={id}>
          {t('token.field')}
          <input
            id={id}
            type="password"
            autocomplete="off"
            required
            value={given.value}
            onInput={(event) => (given.value = event.currentTarget.value)}
          />
        </label>
        <div class="actions">
          <button type="submit" class="main">
            {t('token.do')}
          </button>
        </div>
      </form>
    </Dialog>
  )
}

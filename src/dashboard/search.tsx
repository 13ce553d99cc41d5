import type { JSX } from 'preact'

interface Props {
  readonly value: string
  readonly label: string
  readonly hint: string
  readonly onInput: (text: string) => void
}

/** Esc empties it; `/` anywhere on the page leads to it. */
export function Search({ value, label, hint, onInput }: Props): JSX.Element {
  return (
    <input
      type="search"
      aria-label={label}
      placeholder={hint}
      title={label}
      autocomplete="off"
      spellcheck={false}
      maxLength={600}
      value={value}
      onInput={(event) => onInput(event.currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key === 'Escape') onInput('')
      }}
    />
  )
}

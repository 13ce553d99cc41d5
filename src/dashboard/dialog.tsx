import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'

interface Props {
  readonly title: string
  readonly class?: string | undefined
  /** Esc, or the browser's own way to close; null if it has to be answered. */
  readonly onClose: (() => void) | null
  readonly children: ComponentChildren
}

/** The browser keeps the focus inside, and gives it back. */
export function Dialog({ title, onClose, children, ...props }: Props): JSX.Element {
  const box = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const dialog = box.current!
    dialog.showModal()
    return () => dialog.close()
  }, [])
  return (
    <dialog
      ref={box}
      class={props.class}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault()
        onClose?.()
      }}
      // Some browsers close at a second Esc without asking.
      onClose={() => (onClose ? onClose() : box.current?.showModal())}
    >
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  )
}

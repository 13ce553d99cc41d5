import type { ComponentChildren, JSX } from 'preact'

/** In place of what is not there: what that means, and what can be done. */
export function Empty({ title, children }: { title?: string; children: ComponentChildren }): JSX.Element {
  return (
    <div class="empty">
      {title !== undefined && <strong>{title}</strong>}
      <div>{children}</div>
    </div>
  )
}

import type { ComponentChildren, JSX } from 'preact'
import { t } from './preferences.ts'
import type { Word } from './words/en.ts'

export function Card({ title, children }: { title: Word; children: ComponentChildren }): JSX.Element {
  return (
    <section class="card">
      <h2>{t(title)}</h2>
      {children}
    </section>
  )
}

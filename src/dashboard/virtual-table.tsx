import { useSignal } from '@preact/signals'
import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

/** Rows above and below what is seen, so that fast scrolling shows no gap. */
const BESIDE = 8

interface Props<T> {
  readonly label: string
  readonly class: string
  readonly rows: readonly T[]
  readonly idOf: (row: T) => string | number
  readonly head: ComponentChildren
  readonly cells: (row: T) => ComponentChildren
}

/** A table of any length in which only the rows that are seen exist. All have the height `--row`. */
export function VirtualTable<T>({ label, rows, idOf, head, cells, ...props }: Props<T>): JSX.Element {
  const box = useRef<HTMLDivElement>(null)
  const rowHeight = useSignal(36)
  const first = useSignal(0)
  const seen = useSignal(40)

  const look = (): void => {
    // An observer may call once more when the table has gone.
    if (!box.current) return
    const { scrollTop, clientHeight } = box.current
    rowHeight.value = Number.parseFloat(getComputedStyle(box.current).getPropertyValue('--row')) || 36
    first.value = Math.max(0, Math.floor(scrollTop / rowHeight.value) - BESIDE)
    seen.value = Math.ceil(clientHeight / rowHeight.value) + 2 * BESIDE
  }
  useEffect(() => {
    const observer = new ResizeObserver(look)
    observer.observe(box.current!)
    return () => observer.disconnect()
  }, [])

  // After a filter there may be fewer rows than were scrolled past.
  const start = Math.min(first.value, Math.max(0, rows.length - seen.value))
  const shown = rows.slice(start, start + seen.value)
  const above = start * rowHeight.value
  const below = (rows.length - start - shown.length) * rowHeight.value
  return (
    <div
      ref={box}
      class={`scroller ${props.class}`}
      tabIndex={0}
      role="region"
      aria-label={label}
      onScroll={look}
    >
      <table aria-rowcount={rows.length + 1}>
        <thead>
          <tr aria-rowindex={1}>{head}</tr>
        </thead>
        <tbody>
          {above > 0 && <Gap key="above" height={above} />}
          {shown.map((row, i) => (
            <tr key={idOf(row)} aria-rowindex={start + i + 2}>
              {cells(row)}
            </tr>
          ))}
          {below > 0 && <Gap key="below" height={below} />}
        </tbody>
      </table>
    </div>
  )
}

function Gap({ height }: { height: number }): JSX.Element {
  return (
    <tr class="gap" aria-hidden="true" style={{ height: `${height}px` }}>
      <td />
    </tr>
  )
}

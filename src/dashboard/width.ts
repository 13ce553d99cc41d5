import { type Signal, useSignal } from '@preact/signals'
import type { RefObject } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

/** How wide an element is now, so that a drawing in it can be drawn in whole pixels. */
export function useWidth<E extends HTMLElement>(): { box: RefObject<E | null>; width: Signal<number> } {
  const box = useRef<E>(null)
  const width = useSignal(480)
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => {
      if (entry) width.value = Math.round(entry.contentRect.width)
    })
    observer.observe(box.current!)
    return () => observer.disconnect()
  }, [])
  return { box, width }
}

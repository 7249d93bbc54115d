import type { RefObject } from 'preact'
import { useEffect, useLayoutEffect, useState } from 'preact/hooks'
import { focusNearest, revealEvent } from './shared/focus.ts'

/** The place that somebody asked to be led to; once it is drawn it gets the focus. */
export const useReveal = (root: RefObject<HTMLElement | null>) => {
  const [revealed, setRevealed] = useState({ pointer: '', count: 0 })
  useEffect(() => {
    const form = root.current
    const reveal = (event: Event): void => {
      const pointer = (event as CustomEvent<string>).detail
      setRevealed(({ count }) => ({ pointer, count: count + 1 }))
    }
    form?.addEventListener(revealEvent, reveal)
    return () => form?.removeEventListener(revealEvent, reveal)
  }, [])
  useLayoutEffect(() => {
    // Fields hear of it through their context, and are drawn right after the form itself.
    if (revealed.count > 0) queueMicrotask(() => root.current && focusNearest(revealed.pointer, root.current))
  }, [revealed])
  return revealed
}

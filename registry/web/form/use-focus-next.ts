import type { RefObject } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'

/** A function that names, as selectors, what is to have the focus after the next drawing. */
export const useFocusNext = (root: RefObject<HTMLElement | null>): ((selector: string) => void) => {
  const focus = useRef<string | undefined>(undefined)
  const [, setDrawn] = useState(0)
  const give = (): void => {
    // Of several selectors the first that finds something able to take the focus.
    for (const selector of focus.current?.split(', ') ?? []) {
      const found = [...(root.current?.querySelectorAll<HTMLElement>(selector) ?? [])].find(
        one => !one.matches(':disabled'),
      )
      if (!found) continue
      found.focus()
      break
    }
    focus.current = undefined
  }
  useLayoutEffect(() => {
    // What a field changes in itself alone is drawn right after the form.
    if (focus.current !== undefined) queueMicrotask(give)
  })
  return selector => {
    focus.current = selector
    // What it is for may change nothing that draws the whole form.
    setDrawn(count => count + 1)
  }
}

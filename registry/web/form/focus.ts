import { parsePointer, toPointer } from './model/json.ts'

/**
 * Puts the focus on the field of a pointer, or on what is nearest around it when the field is not on the page, and scrolls to
 * it. False when there is nothing to focus.
 */
export const focusField = (pointer: string, root: ParentNode = document): boolean => {
  const path = parsePointer(pointer)
  for (let length = path.length; length >= 0; length--) {
    const found = elementOf(toPointer(path.slice(0, length)), root)
    if (!found) continue
    found.focus({ preventScroll: true })
    found.scrollIntoView({ block: 'center' })
    return true
  }
  return false
}

/** A name in an attribute selector; pointers hold any character. */
export const quoted = (pointer: string): string => `"${CSS.escape(pointer)}"`

const elementOf = (pointer: string, root: ParentNode): HTMLElement | null =>
  root.querySelector<HTMLElement>(`[data-pointer=${quoted(pointer)}]:not([type=radio]:not(:checked))`) ??
  root.querySelector<HTMLElement>(`[data-pointer=${quoted(pointer)}]`) ??
  root.querySelector<HTMLElement>(`[data-node=${quoted(pointer)}]`)

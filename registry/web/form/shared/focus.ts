import { parsePointer, toPointer } from '../model/json.ts'

/** Asks the form that hears it to show a place and put the focus there. */
export const revealEvent = 'reveal'

/** Puts the focus on the field of a pointer, unfolding what it is in, and scrolls to it. */
export const focusField = (pointer: string, root: ParentNode = document): void => {
  root.querySelector('.schema-form')?.dispatchEvent(new CustomEvent(revealEvent, { detail: pointer }))
}

/** Puts the focus on the field of a pointer, or on what is nearest around it when the field is not on the page. */
export const focusNearest = (pointer: string, root: ParentNode): void => {
  const path = parsePointer(pointer)
  for (let length = path.length; length >= 0; length--) {
    const found = elementOf(toPointer(path.slice(0, length)), root)
    if (!found) continue
    found.focus({ preventScroll: true })
    found.scrollIntoView({ block: 'center' })
    return
  }
}

/** A name in an attribute selector; pointers hold any character. */
export const quoted = (pointer: string): string => `"${CSS.escape(pointer)}"`

/** Where the focus goes, best first: what takes the value, what gives it, the group around it. */
const elementOf = (pointer: string, root: ParentNode): HTMLElement | null => {
  const at = quoted(pointer)
  const places = [`[data-pointer=${at}]:not([type=radio]:not(:checked))`, `[data-pointer=${at}]`, `[data-give=${at}]`]
  for (const place of [...places, `[data-node=${at}]`, `[data-state=${at}]`]) {
    const found = root.querySelector<HTMLElement>(place)
    if (found) return found
  }
  return null
}

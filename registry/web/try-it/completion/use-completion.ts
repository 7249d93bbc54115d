import type { RefObject } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { makeRefs } from '../../../schema/refs.ts'
import { caretPlace } from './caret.ts'
import { type Cursor, cursorIn } from './cursor.ts'
import { type Offer, offersAt } from './offers.ts'

/** What is offered at the cursor now. */
export interface Offered {
  offers: readonly Offer[]
  /** The one that Enter takes; -1: none, because nothing of it is written yet, and Enter is a new line. */
  chosen: number
  /** Below the line that is written, from the corner of the field. */
  left: number
  top: number
}

/** So long a text is read with every key; of a longer one nothing is offered. */
const maxTextLength = 300_000

/** Completes JSON in a field from a schema: while typing, and by Ctrl-Space. */
export const useCompletion = (field: RefObject<HTMLTextAreaElement | null>, schema: unknown) => {
  const refs = useMemo(() => makeRefs(schema), [schema])
  const [offered, setOffered] = useState<Offered>()
  const cursor = useRef<Cursor>(undefined)
  const close = () => setOffered(undefined)

  /** @param isAsked also where nothing was begun yet */
  const look = (isAsked: boolean): void => {
    const text = field.current
    if (!text || schema === undefined || text.value.length > maxTextLength) return void close()
    const at = text.selectionStart
    const found = at === text.selectionEnd ? cursorIn(text.value, at) : undefined
    const offers = found ? offersAt(schema, refs, found) : []
    if (!found || offers.length === 0) return void close()
    cursor.current = found
    const { left, top, lineHeight } = caretPlace(text, found.from)
    const chosen = isAsked || found.typed !== '' ? 0 : -1
    setOffered({ offers, chosen, left: Math.max(0, left), top: top + lineHeight })
  }

  const take = (offer: Offer): void => {
    const text = field.current
    if (!text || !cursor.current) return
    const { from, to } = cursor.current
    const indent = /[ \t]*/.exec(text.value.slice(text.value.lastIndexOf('\n', from - 1) + 1))![0]
    close()
    text.focus()
    text.setSelectionRange(from, to)
    insert(text, offer.text.replaceAll('\n', `\n${indent}`))
    text.setSelectionRange(text.selectionEnd - offer.back, text.selectionEnd - offer.back)
    if (offer.goesOn) look(false)
  }

  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === ' ' && event.ctrlKey) {
      event.preventDefault()
      look(true)
      return
    }
    if (!offered || event.isComposing || event.ctrlKey || event.metaKey) return
    const { offers, chosen } = offered
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) {
      event.preventDefault()
      const from = chosen < 0 && step < 0 ? 0 : chosen
      setOffered({ ...offered, chosen: (from + step + offers.length) % offers.length })
    } else if (event.key === 'Enter' && chosen >= 0 && !event.shiftKey) {
      event.preventDefault()
      take(offers[chosen]!)
    } else if (event.key === 'Escape') {
      event.preventDefault()
      close()
    } else if (/^(Arrow|Home|End|Page)/.test(event.key)) close()
  }

  /** What is deleted asks for nothing; neither does what is pasted. */
  const onInput = (event: InputEvent): void => {
    const isTyped = event.inputType === 'insertText' || event.inputType === 'insertCompositionText'
    if (isTyped || (offered && event.inputType === 'deleteContentBackward')) look(false)
    else close()
  }

  useEffect(() => close(), [schema])
  return { offered, onKeyDown, onInput, take, close }
}

/** Written as if typed, so that it can be undone; that way is old, and no other one keeps that. */
const insert = (field: HTMLTextAreaElement, text: string): void => {
  if (document.execCommand('insertText', false, text)) return
  field.setRangeText(text, field.selectionStart, field.selectionEnd, 'end')
  field.dispatchEvent(new InputEvent('input', { bubbles: true, inputType: 'insertReplacementText' }))
}

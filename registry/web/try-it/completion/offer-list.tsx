import { useEffect, useRef } from 'preact/hooks'
import { printable } from '../../text/printable.ts'
import type { Offer } from './offers.ts'
import type { Offered } from './use-completion.ts'

interface OfferListProps {
  id: string
  offered: Offered
  onTake(offer: Offer): void
}

export const optionId = (list: string, at: number): string => `${list}-${at}`

/** What may be written at the cursor: the field keeps the focus, and names the one that Enter takes. */
export const OfferList = ({ id, offered, onTake }: OfferListProps) => {
  const { offers, chosen, left, top } = offered
  const list = useRef<HTMLDivElement>(null)
  useEffect(() => {
    list.current?.children[Math.max(0, chosen)]?.scrollIntoView({ block: 'nearest' })
  }, [chosen])
  useEffect(() => {
    const own = list.current
    const around = own?.parentElement
    // At the edge it would be cut off.
    if (own && around) own.style.left = `${Math.max(0, Math.min(left, around.clientWidth - own.offsetWidth))}px`
  }, [left, offers])
  return (
    <div ref={list} id={id} class="offers" role="listbox" aria-label="Suggestions" style={{ top: `${top}px` }}>
      {offers.map(({ label, note, ...offer }, at) => (
        // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the field
        // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the keys
        <div
          key={`${label} ${offer.text}`}
          id={optionId(id, at)}
          role="option"
          aria-selected={at === chosen}
          onMouseDown={event => event.preventDefault()}
          onClick={() => onTake(offers[at]!)}
        >
          <code>{printable(label)}</code>
          {note !== '' && <span class="offer-note">{printable(note)}</span>}
        </div>
      ))}
    </div>
  )
}

import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

/** A modal dialog of the browser's own: it keeps the focus inside and closes with Esc. */
export const Dialog = ({
  title,
  onClose,
  children,
}: {
  title: string
  onClose(): void
  children: ComponentChildren
}) => {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const before = document.activeElement
    dialog.current?.showModal()
    return () => (before instanceof HTMLElement ? before.focus() : undefined)
  }, [])
  const closeOutside = (event: MouseEvent) => {
    if (event.target === dialog.current) onClose()
  }
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Esc closes it
    <dialog ref={dialog} aria-labelledby="dialog-title" onClose={onClose} onClick={closeOutside}>
      <div class="dialog-body">
        <h2 id="dialog-title">{title}</h2>
        {children}
      </div>
    </dialog>
  )
}

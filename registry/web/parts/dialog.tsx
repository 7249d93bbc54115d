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
    const shown = dialog.current
    shown?.showModal()
    return () => {
      // Once it is closed, somebody may type elsewhere before it is gone: they keep the focus.
      const { activeElement } = document
      const isElsewhere = activeElement !== document.body && !shown?.contains(activeElement)
      if (before instanceof HTMLElement && !isElsewhere) before.focus()
    }
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

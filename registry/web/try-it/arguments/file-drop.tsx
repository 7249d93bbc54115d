import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'

/** What is around the editor: a file may be dropped on it. */
export const FileDrop = ({ onFile, children }: { onFile(file: File): Promise<void>; children: ComponentChildren }) => {
  const [isOver, setOver] = useState(false)
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: a second way besides the button
    <div
      class="editor"
      data-over={isOver}
      onDragOver={event => {
        event.preventDefault()
        setOver(true)
      }}
      onDragLeave={() => setOver(false)}
      onDrop={event => {
        event.preventDefault()
        setOver(false)
        const file = event.dataTransfer?.files[0]
        if (file) void onFile(file)
      }}
    >
      {children}
    </div>
  )
}

import { useState } from 'preact/hooks'

/** A command line to copy. */
export const Command = ({ children }: { children: string }) => {
  const [isCopied, setCopied] = useState(false)
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(children)
      setCopied(true)
      setTimeout(() => setCopied(false), 2000)
    } catch {
      // Only pages served by TLS or from this machine may write to the clipboard; the text can be selected.
    }
  }
  return (
    <div class="command">
      <code>{children}</code>
      {'clipboard' in navigator && (
        <button type="button" onClick={copy}>
          {isCopied ? 'Copied' : 'Copy'}
        </button>
      )}
    </div>
  )
}

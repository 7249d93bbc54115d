import { useEffect, useState } from 'preact/hooks'
import { copyText } from './clipboard.ts'

/** Copies what `text` gives at the moment of the click, and says whether that worked. */
export const CopyButton = ({ label, text }: { label: string; text: () => string }) => {
  const [said, setSaid] = useState<string>()
  useEffect(() => {
    if (said === undefined) return
    const timer = setTimeout(() => setSaid(undefined), 2000)
    return () => clearTimeout(timer)
  }, [said])
  const copy = async () => setSaid((await copyText(text())) ? 'Copied' : 'This browser does not allow pages to copy')
  return (
    <button type="button" onClick={copy}>
      <span aria-live="polite">{said ?? label}</span>
    </button>
  )
}

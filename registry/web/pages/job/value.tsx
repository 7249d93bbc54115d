import { useMemo } from 'preact/hooks'
import { readJson } from '../../json/text.ts'
import { JsonTree } from '../../json/tree.tsx'
import { bytes } from '../../text/figures.ts'
import { CopyButton } from '../../try-it/parts/copy-button.tsx'

/** Arguments or a result, as JSON to fold and unfold; what is folded is not drawn. */
export const Value = ({
  title,
  value,
  text = JSON.stringify(value),
}: {
  title: string
  value?: unknown
  text?: string
}) => {
  const id = `job-${title.toLowerCase()}`
  const node = useMemo(() => {
    try {
      return readJson(text)
    } catch {
      return undefined
    }
  }, [text])
  return (
    <section class="part" aria-labelledby={id}>
      <div class="part-head">
        <h2 id={id}>{title}</h2>
        <span class="quiet">{bytes(new TextEncoder().encode(text).length)}</span>
        <CopyButton label={`Copy ${title.toLowerCase()}`} text={() => text} />
      </div>
      <div class="panel job-value">{node ? <JsonTree node={node} /> : <p class="quiet">This is no JSON.</p>}</div>
    </section>
  )
}

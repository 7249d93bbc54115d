import { signal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import { isInOrder, sorted } from '../../json/format.ts'
import { readJson } from '../../json/text.ts'
import { JsonTree } from '../../json/tree.tsx'
import { bytes } from '../../text/figures.ts'
import { CopyButton } from '../../try-it/parts/copy-button.tsx'

/** Whether members of objects are shown in the order of their names; of all values, until the page is left. */
const isSorted = signal(false)

/** Arguments or a result, as JSON to fold and unfold; what is folded is not drawn. */
export const Value = ({ title, text }: { title: string; text: string }) => {
  const id = `job-${title.toLowerCase()}`
  const node = useMemo(() => {
    try {
      return readJson(text)
    } catch {
      return undefined
    }
  }, [text])
  const isMixed = useMemo(() => node !== undefined && !isInOrder(node), [node])
  const shown = useMemo(() => (node && isSorted.value ? sorted(node) : node), [node, isSorted.value])
  return (
    <section class="part" aria-labelledby={id}>
      <div class="part-head">
        <h2 id={id}>{title}</h2>
        <span class="quiet">{bytes(new TextEncoder().encode(text).length)}</span>
        {isMixed && (
          <button
            type="button"
            aria-pressed={isSorted.value}
            aria-label={`Sort by name: ${title.toLowerCase()}`}
            title={isSorted.value ? 'Fields are sorted by name' : 'Fields are in their original order'}
            onClick={() => {
              isSorted.value = !isSorted.value
            }}
          >
            Sort by name
          </button>
        )}
        <CopyButton label={`Copy ${title.toLowerCase()}`} text={() => text} />
      </div>
      <div class="panel job-value">{shown ? <JsonTree node={shown} /> : <p class="quiet">This is no JSON.</p>}</div>
    </section>
  )
}

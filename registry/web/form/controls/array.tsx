import { jsonText } from '../../json/exact.ts'
import { arrayViewOf } from '../model/array-view.ts'
import { own, ownNumber, ownText } from '../model/json.ts'
import { batches } from '../model/parts.ts'
import type { ControlProps } from '../shared/control-props.ts'
import { ItemTools } from './item-tools.tsx'
import { useBatch } from './use-batch.ts'
import { useItems } from './use-items.ts'

/** A list or a tuple: add, remove, move, duplicate. */
export const ArrayItems = (props: ControlProps) => {
  const { view, path, pointer, label, Field } = props
  const array = arrayViewOf(view.flat)
  const { items, ids, actions, add } = useItems(props, array)
  const { most, more, atLeast } = useBatch(pointer, batches.items, step => Number(step))
  const mayGrow = array.mayGrow(items.length)
  return (
    <div class="nested items">
      {items.length === 0 && <p class="quiet none">No items.</p>}
      {items.slice(0, most).map((item, i) => (
        <Field
          key={ids[i]!}
          schema={array.itemSchema(i)}
          value={item}
          path={[...path, i]}
          label={array.placeTitle(i) ?? `${label} ${i + 1}`}
          required
          kept
          heading={<span class="number-of">{array.placeTitle(i) ?? i + 1}</span>}
          tools={<ItemTools {...{ i, pointer, label, actions, mayGrow }} count={items.length} fixed={array.fixed} />}
        />
      ))}
      {items.length > most && (
        <button type="button" class="small" onClick={more}>
          Show more of {items.length} items
        </button>
      )}
      {mayGrow && (
        <button type="button" class="small add" data-add={pointer} onClick={() => atLeast(add())}>
          Add {itemName(array.itemSchema(items.length)) ?? 'an item'}
          <span class="unseen"> to {label}</span>
        </button>
      )}
      <Contained keywords={view.flat.keywords} />
    </div>
  )
}

const itemName = (schema: unknown): string | undefined => ownText(schema, 'title')

const Contained = ({ keywords }: { keywords: object }) => {
  const wanted = own(keywords, 'contains')
  if (wanted === undefined) return null
  const least = ownNumber(keywords, 'minContains') ?? 1
  return <p class="quiet">{`At least ${least} of: ${(jsonText(wanted) ?? '').slice(0, 120)}`}</p>
}

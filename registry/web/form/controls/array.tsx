import { useRef, useState } from 'preact/hooks'
import { arrayViewOf } from '../model/array-view.ts'
import { initialOf } from '../model/initial.ts'
import { own, ownNumber, ownText, toPointer } from '../model/json.ts'
import { useActions } from '../shared/context.ts'
import type { ControlProps } from '../shared/control-props.ts'
import { quoted } from '../shared/focus.ts'

const batch = 100

/** A list or a tuple: add, remove, move, duplicate. */
export const ArrayItems = (props: ControlProps) => {
  const { view, value, path, pointer, label, put, Field } = props
  const { refs, focusNext } = useActions()
  const [most, setMost] = useState(batch)
  const items = Array.isArray(value) ? value : []
  const ids = useIds(items.length)
  const array = arrayViewOf(view.flat)
  const change = (edit: (list: unknown[]) => void, focus: string): void => {
    const next = [...items]
    edit(next)
    edit(ids.list)
    put(next)
    focusNext(focus)
  }
  const firstIn = (i: number): string => {
    const at = quoted(toPointer([...path, i]))
    return `[data-pointer=${at}], [data-branch=${at}], [data-node=${at}]`
  }
  const tool = (what: string, i: number): string => `[data-tool=${quoted(`${what} ${pointer}/${i}`)}]`
  const addButton = `[data-add=${quoted(pointer)}]`
  const add = (): void => {
    const item = initialOf(array.itemSchema(items.length), refs)
    ids.list.push(ids.fresh())
    put([...items, item])
    focusNext(firstIn(items.length))
    setMost(Math.max(most, items.length + 1))
  }
  const actions: Actions = {
    up: i =>
      change(list => list.splice(i - 1, 0, ...list.splice(i, 1)), `${tool('up', i - 1)}, ${tool('down', i - 1)}`),
    down: i =>
      change(list => list.splice(i + 1, 0, ...list.splice(i, 1)), `${tool('down', i + 1)}, ${tool('up', i + 1)}`),
    copy: i => {
      ids.list.splice(i + 1, 0, ids.fresh())
      put([...items.slice(0, i + 1), items[i], ...items.slice(i + 1)])
      focusNext(firstIn(i + 1))
    },
    remove: i =>
      change(list => list.splice(i, 1), items.length === 1 ? addButton : tool('remove', Math.min(i, items.length - 2))),
  }
  const mayGrow = array.mayGrow(items.length)
  return (
    <div class="nested items">
      {items.length === 0 && <p class="quiet none">No items.</p>}
      {items.slice(0, most).map((item, i) => (
        <Field
          key={ids.list[i]!}
          schema={array.itemSchema(i)}
          value={item}
          path={[...path, i]}
          label={array.placeTitle(i) ?? `${label} ${i + 1}`}
          required
          kept
          heading={<span class="number-of">{array.placeTitle(i) ?? i + 1}</span>}
          tools={<Tools {...{ i, pointer, label, actions, mayGrow }} count={items.length} fixed={array.fixed} />}
        />
      ))}
      {items.length > most && (
        <button type="button" class="small" onClick={() => setMost(most + batch)}>
          Show more of {items.length} items
        </button>
      )}
      {mayGrow && (
        <button type="button" class="small add" data-add={pointer} onClick={add}>
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
  return <p class="quiet">{`At least ${least} of: ${(JSON.stringify(wanted) ?? '').slice(0, 120)}`}</p>
}

/** An id for each item that moves with it, so that its field keeps what was being typed. */
const useIds = (length: number) => {
  const list = useRef<number[]>([])
  const count = useRef(0)
  const fresh = (): number => ++count.current
  while (list.current.length < length) list.current.push(fresh())
  list.current.length = length
  return { list: list.current, fresh }
}

interface Actions {
  up(i: number): void
  down(i: number): void
  copy(i: number): void
  remove(i: number): void
}

interface ToolProps {
  i: number
  count: number
  /** Places of a tuple cannot change their order. */
  fixed: number
  pointer: string
  label: string
  mayGrow: boolean
  actions: Actions
}

const Tools = ({ i, count, fixed, pointer, label, mayGrow, actions }: ToolProps) => {
  const all = [
    { what: 'up', sign: '↑', text: 'Move up', may: i > fixed, run: actions.up },
    { what: 'down', sign: '↓', text: 'Move down', may: i >= fixed && i < count - 1, run: actions.down },
    { what: 'copy', sign: 'copy', text: 'Duplicate', may: i >= fixed && mayGrow, run: actions.copy },
    { what: 'remove', sign: '×', text: 'Remove', may: i >= fixed || i === count - 1, run: actions.remove },
  ] as const
  return (
    <>
      {all.map(({ what, sign, text, may, run }) => (
        <button
          key={what}
          type="button"
          class="tool"
          data-tool={`${what} ${pointer}/${i}`}
          aria-label={`${text}: ${label} ${i + 1}`}
          title={text}
          disabled={!may}
          onClick={() => run(i)}
        >
          {sign}
        </button>
      ))}
    </>
  )
}

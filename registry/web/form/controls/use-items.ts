import { useRef } from 'preact/hooks'
import type { arrayViewOf } from '../model/array-view.ts'
import { initialOf } from '../model/initial.ts'
import { toPointer } from '../model/json.ts'
import { useActions } from '../shared/context.ts'
import type { ControlProps } from '../shared/control-props.ts'
import { quoted } from '../shared/focus.ts'

export interface ItemActions {
  up(i: number): void
  down(i: number): void
  copy(i: number): void
  remove(i: number): void
}

/** The items of a list, and what changes them; each change says where the focus is afterwards. */
export const useItems = ({ value, path, pointer, put }: ControlProps, array: ReturnType<typeof arrayViewOf>) => {
  const { refs, focusNext } = useActions()
  const items = Array.isArray(value) ? value : []
  const ids = useIds(items.length)
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
  /** Returns how many there are then. */
  const add = (): number => {
    const item = initialOf(array.itemSchema(items.length), refs)
    ids.list.push(ids.fresh())
    put([...items, item])
    focusNext(firstIn(items.length))
    return items.length + 1
  }
  const actions: ItemActions = {
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
  return { items, ids: ids.list, actions, add }
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

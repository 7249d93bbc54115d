import type { ItemActions } from './use-items.ts'

interface ToolProps {
  i: number
  count: number
  /** Places of a tuple cannot change their order. */
  fixed: number
  pointer: string
  label: string
  mayGrow: boolean
  actions: ItemActions
}

/** Buttons that move an item, double it or take it out. */
export const ItemTools = ({ i, count, fixed, pointer, label, mayGrow, actions }: ToolProps) => {
  const all = [
    { what: 'up', sign: '↑', text: 'Move up', may: i > fixed, run: actions.up },
    { what: 'down', sign: '↓', text: 'Move down', may: i >= fixed && i < count - 1, run: actions.down },
    { what: 'copy', sign: 'copy', text: 'Copy', may: i >= fixed && mayGrow, run: actions.copy },
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

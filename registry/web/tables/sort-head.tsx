import type { ComponentChildren } from 'preact'
import type { QueryState } from '../address/use-query.ts'

export interface SortHeadProps {
  column: string
  sort: { column: string; isDown: boolean }
  state: QueryState
  /** Numbers are sorted from the largest on first. */
  isNumber?: boolean
  title?: string
  children: ComponentChildren
}

/** A column's head that sorts by it; again turns it round. */
export const SortHead = ({ column, sort, state, isNumber = false, title, children }: SortHeadProps) => {
  const isSorted = sort.column === column
  const isDown = isSorted ? !sort.isDown : isNumber
  const direction = sort.isDown ? 'descending' : 'ascending'
  return (
    <th scope="col" class={isNumber ? 'number' : undefined} title={title} aria-sort={isSorted ? direction : undefined}>
      <a href={state.link({ sort: (isDown ? '-' : '') + column, page: undefined })}>
        {children}
        <span class="sort-mark" aria-hidden="true">
          {isSorted ? (sort.isDown ? '↓' : '↑') : ''}
        </span>
      </a>
    </th>
  )
}

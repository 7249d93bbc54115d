import type { QueryState } from '../address/use-query.ts'

/** Links to the pages of a long list. */
export const Pager = ({ page, pages, state }: { page: number; pages: number; state: QueryState }) => {
  if (pages <= 1) return null
  const link = (to: number) => state.link({ page: to === 1 ? undefined : String(to) })
  return (
    <nav class="pager" aria-label="Further rows">
      {page > 1 ? <a href={link(page - 1)}>Previous</a> : <span class="quiet">Previous</span>}
      <span>
        Page {page} of {pages}
      </span>
      {page < pages ? <a href={link(page + 1)}>Next</a> : <span class="quiet">Next</span>}
    </nav>
  )
}

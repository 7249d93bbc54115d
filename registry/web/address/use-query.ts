import { useLocation } from 'preact-iso'
import { withQuery } from './query.ts'

export interface QueryState {
  query: Readonly<Record<string, string>>
  /** Address of this page with changes to its query. */
  link(changes: Record<string, string | undefined>): string
  /** The same, gone to. `quietly`: without a step for the back button, as for every letter of a search. */
  change(changes: Record<string, string | undefined>, quietly?: boolean): void
}

/** What this page shows, as its address says. */
export const useQuery = (): QueryState => {
  const { path, query, route } = useLocation()
  const link = (changes: Record<string, string | undefined>) => path + withQuery(query, changes)
  return { query, link, change: (changes, quietly = false) => route(link(changes), quietly) }
}

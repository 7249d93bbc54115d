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
  return {
    query,
    link: changes => path + withQuery(query, changes),
    // One change may follow another before the page is drawn again: it begins at the address as it is by then.
    change: (changes, quietly = false) =>
      route(path + withQuery(Object.fromEntries(new URLSearchParams(location.search)), changes), quietly),
  }
}

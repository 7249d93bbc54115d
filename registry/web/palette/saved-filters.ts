import { computed, signal } from '@preact/signals'
import { namespace } from '../session/access.ts'

/** What somebody looks at again and again: a page with its filters, under a name. */
export interface SavedFilter {
  name: string
  /** Of the page, below the base path: `jobs`. */
  place: string
  /** As in an address, with its question mark. */
  query: string
}

export const longestName = 60
const longestQuery = 2000
const mostSaved = 50
/** Pages that have filters, by their places. */
export const filteredPages: Readonly<Record<string, string>> = {
  tasks: 'Tasks',
  workers: 'Workers',
  queues: 'Queues',
  jobs: 'Jobs',
  schedules: 'Schedules',
  failures: 'Failures',
  slow: 'Slow calls',
}

const keyOf = (space: string | undefined): string => `pshub-filters ${space ?? ''}`

const isFilter = (value: unknown): value is SavedFilter => {
  const { name, place, query } = (value ?? {}) as Partial<SavedFilter>
  return (
    typeof name === 'string' &&
    name !== '' &&
    name.length <= longestName &&
    typeof place === 'string' &&
    Object.hasOwn(filteredPages, place) &&
    typeof query === 'string' &&
    /^\?/.test(query) &&
    query.length <= longestQuery
  )
}

const read = (space: string | undefined): SavedFilter[] => {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(keyOf(space)) ?? '[]')
    return Array.isArray(kept) ? kept.filter(isFilter).slice(0, mostSaved) : []
  } catch {
    // Storage may be denied, and what is kept may be anything.
    return []
  }
}

/** Counts changes of what is kept. */
const changes = signal(0)

/** Those of this namespace, by name. */
export const savedFilters = computed<readonly SavedFilter[]>(() => {
  changes.value
  return read(namespace.value)
})

/** Other tabs may have changed them. */
export const readAgain = (): void => void changes.value++

const keep = (filters: readonly SavedFilter[]): boolean => {
  try {
    localStorage.setItem(keyOf(namespace.value), JSON.stringify(filters))
    return true
  } catch {
    return false
  } finally {
    changes.value++
  }
}

/** In the place of one of the same name on the same page. Why not, where it cannot be kept. */
export const saveFilter = (filter: SavedFilter): string | undefined => {
  if (!isFilter(filter)) return `A name has 1 to ${longestName} characters, and a filter up to ${longestQuery}.`
  const others = read(namespace.value).filter(({ name, place }) => name !== filter.name || place !== filter.place)
  if (others.length >= mostSaved) return `${mostSaved} filters are already saved; remove one.`
  const all = [...others, filter].sort((a, b) => a.name.localeCompare(b.name))
  return keep(all) ? undefined : 'This browser cannot save filters.'
}

export const removeFilter = (filter: SavedFilter): void => {
  keep(read(namespace.value).filter(({ name, place }) => name !== filter.name || place !== filter.place))
}

/** What a page shows, without where in its list one is. */
export const filterOf = (query: Readonly<Record<string, string>>): string => {
  const { page: _, from: _from, ...rest } = query
  const text = new URLSearchParams(Object.entries(rest).sort(([a], [b]) => (a < b ? -1 : 1))).toString()
  return text === '' ? '' : `?${text.replaceAll('%3A', ':')}`
}

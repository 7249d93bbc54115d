import { useSignal } from '@preact/signals'
import { useLocation } from 'preact-iso'
import { at, placeOf } from '../address/paths.ts'
import { Dialog } from '../parts/dialog.tsx'
import { printable } from '../text/printable.ts'
import { filteredPages, filterOf, longestName, removeFilter, savedFilters, saveFilter } from './saved-filters.ts'

/** The saved filters of a page that lists something, to go to, to save what is shown, and to remove. */
export const SavedFilters = () => {
  const { path, query } = useLocation()
  const isOpen = useSignal(false)
  const place = placeOf(path)
  if (!Object.hasOwn(filteredPages, place)) return null
  const shown = filterOf(query)
  const own = savedFilters.value.filter(filter => filter.place === place)
  return (
    <>
      {(own.length > 0 || shown !== '') && (
        <button type="button" class="small" aria-haspopup="dialog" onClick={() => (isOpen.value = true)}>
          {own.length > 0 ? `Saved filters (${own.length})` : 'Save this filter'}
        </button>
      )}
      {isOpen.value && <Menu place={place} shown={shown} onClose={() => (isOpen.value = false)} />}
    </>
  )
}

const Menu = ({ place, shown, onClose }: { place: string; shown: string; onClose(): void }) => {
  const name = useSignal('')
  const problem = useSignal<string | undefined>(undefined)
  const own = savedFilters.value.filter(filter => filter.place === place)
  const save = (event: Event) => {
    event.preventDefault()
    problem.value = saveFilter({ name: name.value.trim(), place, query: shown })
    if (problem.value === undefined) onClose()
  }
  return (
    <Dialog title={`Saved filters of ${filteredPages[place]}`} onClose={onClose}>
      {own.length > 0 && (
        <ul class="saved-filters">
          {own.map(filter => (
            <li key={filter.name}>
              <a href={at(filter.place) + filter.query} onClick={onClose}>
                <bdi class="wrap">{printable(filter.name)}</bdi>
              </a>
              <button
                type="button"
                class="small"
                aria-label={`Remove ${printable(filter.name)}`}
                onClick={() => removeFilter(filter)}
              >
                Remove
              </button>
            </li>
          ))}
        </ul>
      )}
      {shown === '' ? (
        <p class="quiet">No filter is set. Filter or sort the list to save it under a name.</p>
      ) : (
        <form class="save-filter" onSubmit={save}>
          <label class="field">
            <span>Name</span>
            <input
              value={name.value}
              maxLength={longestName}
              autocomplete="off"
              required
              onInput={event => (name.value = event.currentTarget.value)}
            />
          </label>
          <button type="submit">Save filter</button>
        </form>
      )}
      {problem.value && (
        <p class="problem" role="alert">
          {problem.value}
        </p>
      )}
      <p class="quiet">Filters are kept in this browser until you log out. To share one, send its address.</p>
      <div class="dialog-actions">
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  )
}

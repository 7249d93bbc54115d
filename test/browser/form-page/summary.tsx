import type { Problem } from 'pshub'
import { focusField } from '../../../registry/web/form/shared/focus.ts'

const maxShown = 20

/** The list of what is wrong; each entry leads to its field. */
export const ProblemSummary = ({ problems }: { problems: readonly Problem[] }) => {
  if (problems.length === 0) return null
  return (
    <section class="problems" aria-label="Problems">
      <ul>
        {problems.slice(0, maxShown).map(({ pointer, message }) => (
          <li key={`${pointer} ${message}`}>
            <button type="button" class="plain" onClick={() => focusField(pointer)}>
              <code>{pointer === '' ? 'the whole' : pointer}</code> {message}
            </button>
          </li>
        ))}
      </ul>
      {problems.length > maxShown && <p class="quiet">and {problems.length - maxShown} more</p>}
    </section>
  )
}

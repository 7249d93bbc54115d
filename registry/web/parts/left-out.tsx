import type { CallList } from '../../contract.ts'
import { count } from '../text/figures.ts'

/** Says that a list has not all that fit, and what to do. */
export const LeftOut = ({
  list: { calls, fitting },
  first,
  of,
}: {
  list: CallList<unknown>
  /** Which of them it has: `newest`. */
  first: string
  of: string
}) =>
  fitting > calls.length ? (
    <p class="note">
      Only the {first} {count(calls.length)} of {count(fitting)} {of} are shown: filter by task, or search.
    </p>
  ) : null

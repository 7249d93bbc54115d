import { useSignal } from '@preact/signals'
import { Badge } from '../parts/badge.tsx'
import { session } from '../session/access.ts'
import { logOut } from '../session/login.ts'
import { printable } from '../text/printable.ts'

/** Who looks, and what they may do. */
export const Who = () => {
  const { value } = session
  const problem = useSignal<string | undefined>(undefined)
  if (!value) return null
  const leave = async () => {
    try {
      await logOut()
    } catch (error) {
      problem.value = (error as Error).message
    }
  }
  return (
    <div class="who">
      <Badge tone="quiet" title="Your role">
        {value.readOnly ? 'read-only' : value.role}
      </Badge>
      <button type="button" class="small" onClick={() => void leave()}>
        Log out
      </button>
      {problem.value !== undefined && (
        <span role="alert" class="failing wrap">
          You are not logged out: {printable(problem.value)} Try it again.
        </span>
      )}
    </div>
  )
}

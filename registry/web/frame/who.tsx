import { Badge } from '../parts/badge.tsx'
import { session } from '../session/access.ts'
import { logOut } from '../session/login.ts'

/** Who looks, and what they may do. */
export const Who = () => {
  const { value } = session
  if (!value) return null
  return (
    <div class="who">
      <Badge tone="quiet" title="Your role">
        {value.readOnly ? 'read-only' : value.role}
      </Badge>
      <button type="button" class="small" onClick={() => void logOut().catch(() => undefined)}>
        Log out
      </button>
    </div>
  )
}

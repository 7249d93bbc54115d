import { signal } from '@preact/signals'
import { Badge } from '../parts/badge.tsx'
import { Text } from '../parts/text.tsx'
import { access, session } from '../session/access.ts'
import { logOut } from '../session/login.ts'
import { printable } from '../text/printable.ts'

/** Why the last try to log out did not succeed. */
const problem = signal<string | undefined>(undefined)

/** Logs out; the banner says so where that did not succeed. */
export const leave = async (): Promise<void> => {
  problem.value = undefined
  try {
    await logOut()
  } catch (error) {
    if (access.value !== 'out') problem.value = (error as Error).message
  }
}

/** Who looks, and what they may do. */
export const Who = () => {
  const { value } = session
  if (!value) return null
  return (
    <div class="who">
      <Badge tone="quiet" title="Your role">
        {value.readOnly ? 'read-only' : value.role}
      </Badge>
      {value.user !== undefined && <Text class="short quiet">{value.user}</Text>}
      {/* What a proxy says of somebody lasts as long as it says so. */}
      {value.by !== 'proxy' && (
        <button type="button" class="small" onClick={() => void leave()}>
          Log out
        </button>
      )}
    </div>
  )
}

/** Whoever goes away believes otherwise. */
export const NotLoggedOut = () =>
  problem.value === undefined ? null : (
    <div class="banner" role="alert">
      <strong>The log-out failed.</strong> <span class="wrap">{printable(problem.value)}</span> Try again.
    </div>
  )

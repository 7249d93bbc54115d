import type { ComponentChildren } from 'preact'
import { printable } from '../text/printable.ts'

/** Says that there is nothing, and what to do about it. */
export const Empty = ({ title, children }: { title: string; children?: ComponentChildren }) => (
  <div class="empty">
    <p class="empty-title">{title}</p>
    {children}
  </div>
)

/** In the place of what could not be read yet: `what` that is, and `why` not. */
export const Unread = ({ what, why }: { what: string; why: string }) => (
  <Empty title={`${what} cannot be read now.`}>
    <p class="wrap">{printable(why)} Retrying.</p>
  </Empty>
)

/** Until the first reading is there. */
export const Loading = () => (
  <p class="loading quiet" role="status">
    Reading the registry…
  </p>
)

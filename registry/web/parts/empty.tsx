import type { ComponentChildren } from 'preact'

/** Says that there is nothing, and what to do about it. */
export const Empty = ({ title, children }: { title: string; children?: ComponentChildren }) => (
  <div class="empty">
    <p class="empty-title">{title}</p>
    {children}
  </div>
)

/** Until the first reading is there. */
export const Loading = () => (
  <p class="loading quiet" role="status">
    Reading the registry…
  </p>
)

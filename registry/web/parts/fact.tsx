import type { ComponentChildren } from 'preact'

/** One of the facts of a page, with its name. */
export const Fact = ({ name, title, children }: { name: string; title?: string; children: ComponentChildren }) => (
  <div>
    <dt title={title}>{name}</dt>
    <dd>{children}</dd>
  </div>
)

import type { ComponentChildren } from 'preact'

/** One figure with its name. */
export const Tile = ({ name, value, children }: { name: string; value: string; children?: ComponentChildren }) => (
  <div class="tile">
    <dt>{name}</dt>
    <dd>
      <span class="tile-value">{value}</span>
      {children && <span class="tile-note quiet">{children}</span>}
    </dd>
  </div>
)

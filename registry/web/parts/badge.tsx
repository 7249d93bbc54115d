import type { ComponentChildren } from 'preact'

export type Tone = 'good' | 'warn' | 'bad' | 'quiet' | 'plain'

/** A state in words; the colour only repeats them. */
export const Badge = ({ tone, title, children }: { tone: Tone; title?: string; children: ComponentChildren }) => (
  <span class={`badge ${tone}`} title={title}>
    {children}
  </span>
)

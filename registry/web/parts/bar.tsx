import { count } from '../text/figures.ts'

/** So many of so many, as text and as a bar. */
export const Bar = ({ value, total, name }: { value: number; total: number; name: string }) => {
  const share = total > 0 ? Math.min(1, Math.max(0, value / total)) : 0
  return (
    <span class="bar" title={`${count(value)} of ${count(total)} ${name}`}>
      <span class="bar-text">
        {count(value)}
        <span class="quiet">/{count(total)}</span>
      </span>
      <span class="bar-track" aria-hidden="true">
        <span class={share >= 0.9 ? 'bar-fill full' : 'bar-fill'} style={{ width: `${(share * 100).toFixed(1)}%` }} />
      </span>
    </span>
  )
}

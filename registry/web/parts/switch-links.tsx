import type { QueryState } from '../address/use-query.ts'

/** A choice of few, as links: each has an address of its own. */
export const SwitchLinks = ({
  label,
  name,
  options,
  value,
  state,
}: {
  label: string
  name: string
  options: readonly { value: string; text: string }[]
  value: string
  state: QueryState
}) => (
  <nav class="switch" aria-label={label}>
    {options.map((option, at) => (
      <a
        key={option.value}
        href={state.link({ [name]: at === 0 ? undefined : option.value })}
        aria-current={option.value === value ? 'true' : undefined}
      >
        {option.text}
      </a>
    ))}
  </nav>
)

import type { ComponentType } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Refs } from '../../../schema/refs.ts'
import { branchOf, movedTo } from '../model/branches.ts'
import { ownText } from '../model/json.ts'
import { type Branch, viewOf } from '../model/view.ts'
import { useActions, useForm } from '../shared/context.ts'
import type { ControlProps } from '../shared/control-props.ts'
import { Prose } from '../shared/prose.tsx'

interface Props extends ControlProps {
  branches: readonly Branch[]
  /** Draws the value by the chosen branch. */
  Control: ComponentType<ControlProps>
}

const maxListed = 200

/** `refs`: what the value was judged by that it was chosen for; undefined: a person chose. */
interface Chosen {
  epoch: number
  at: number
  from: unknown
  refs: Refs | undefined
}

/**
 * One of several schemas. The branch is chosen by the value when that comes from outside, and by the person otherwise: never by
 * what is being typed. Each branch keeps its data while another one is shown.
 */
export const Choice = (props: Props) => {
  const { branches, value, pointer, attributes, label, put } = props
  const { refs, setBranch } = useActions()
  const { epoch } = useForm()
  const kept = useRef(new Map<number, unknown>())
  const judged = (from: unknown) => ({ epoch, at: branchOf(branches, from, refs), from, refs })
  const [state, setState] = useState<Chosen>(() => judged(value))
  let { at } = state
  const isStale = state.epoch !== epoch || (at < 0 && value !== undefined)
  // More is known of the patterns of the value that it was chosen by; what was typed since does not count.
  const isWiser = state.refs !== undefined && state.refs !== refs
  if (isStale || isWiser) {
    const next = judged(isStale ? value : state.from)
    at = next.at
    setState(next)
  }
  useEffect(() => {
    setBranch(pointer, branches[at]?.index)
    return () => setBranch(pointer, undefined)
  }, [pointer, at])
  const change = (next: number): void => {
    if (at >= 0) kept.current.set(at, value)
    setState({ epoch, at: next, from: undefined, refs: undefined })
    put(kept.current.has(next) ? kept.current.get(next) : movedTo(value, branches[at], branches[next]!, refs))
  }
  const branch = branches[at]
  return (
    <div class="choice">
      <BranchList
        branches={branches}
        at={at}
        pointer={pointer}
        label={label}
        invalid={attributes['aria-invalid']}
        onChoose={change}
      />
      {branch && <BranchControl key={at} {...props} branch={branch} />}
    </div>
  )
}

const BranchControl = ({ branch, Control, ...props }: Props & { branch: Branch }) => {
  const { refs } = useActions()
  const view = useMemo(() => viewOf(branch.schema, refs), [branch.schema])
  const about = ownText(view.flat.keywords, 'description')
  return (
    <>
      {about !== undefined && (
        <p class="about">
          <Prose text={about} />
        </p>
      )}
      <Control {...props} view={view} />
    </>
  )
}

interface ListProps {
  branches: readonly Branch[]
  at: number
  pointer: string
  label: string
  invalid: 'true' | undefined
  onChoose(at: number): void
}

const BranchList = ({ branches, at, pointer, label, invalid, onChoose }: ListProps) => {
  const [search, setSearch] = useState('')
  const many = branches.length > maxListed
  const listed = branches.map((branch, i) => ({ ...branch, i }))
  const near = many ? listed.filter(one => one.i === at || one.label.includes(search)).slice(0, maxListed) : listed
  return (
    <span class="branches">
      {many && (
        <input
          type="search"
          aria-label={`Search the ${branches.length} kinds of ${label}`}
          placeholder={`one of ${branches.length}`}
          value={search}
          onInput={event => setSearch(event.currentTarget.value)}
        />
      )}
      <select
        data-branch={pointer}
        aria-label={`Kind of ${label}`}
        aria-invalid={invalid}
        value={at}
        onChange={event => onChoose(Number(event.currentTarget.value))}
      >
        {at < 0 && (
          <option value={-1} disabled>
            Choose ...
          </option>
        )}
        {near.map(one => (
          <option key={one.i} value={one.i}>
            {one.label}
          </option>
        ))}
      </select>
    </span>
  )
}

import { useState } from 'preact/hooks'
import { plural } from '../text/figures.ts'
import { printable } from '../text/printable.ts'

/** Deeper levels are folded at first; what is folded is not drawn. */
const openDepth = 3
const maxEntries = 500

/** A value as JSON, to fold and unfold. */
export const JsonView = ({ value }: { value: unknown }) => (
  <div class="jv">
    <JsonNode value={value} depth={0} />
  </div>
)

interface NodeProps {
  value: unknown
  depth: number
  name?: string
}

const JsonNode = ({ value, depth, name }: NodeProps) =>
  typeof value === 'object' && value !== null ? (
    <JsonBranch value={value} depth={depth} {...(name === undefined ? {} : { name })} />
  ) : (
    <div class="jv-leaf">
      <JsonName>{name}</JsonName>
      <span class={`jv-${value === null ? 'null' : typeof value}`}>{printable(JSON.stringify(value))}</span>
    </div>
  )

const JsonName = ({ children }: { children: string | undefined }) =>
  children === undefined ? null : <bdi class="jv-name">{printable(children)}: </bdi>

const JsonBranch = ({ value, depth, name }: NodeProps & { value: object }) => {
  const [isOpen, setOpen] = useState(depth < openDepth)
  const entries = Object.entries(value)
  const isList = Array.isArray(value)
  const [open, close] = isList ? ['[', ']'] : ['{', '}']
  if (entries.length === 0) {
    return (
      <div class="jv-leaf">
        <JsonName>{name}</JsonName>
        {open + close}
      </div>
    )
  }
  return (
    <details open={isOpen} onToggle={event => setOpen(event.currentTarget.open)}>
      <summary>
        <JsonName>{name}</JsonName>
        {open}
        {!isOpen && <span class="quiet"> {plural(entries.length, isList ? 'item' : 'field')} </span>}
        {!isOpen && close}
      </summary>
      {isOpen && (
        <div class="jv-inside">
          {entries.slice(0, maxEntries).map(([key, inner]) => (
            <JsonNode key={key} value={inner} depth={depth + 1} {...(isList ? {} : { name: key })} />
          ))}
          {entries.length > maxEntries && <p class="quiet">{entries.length - maxEntries} more are not shown.</p>}
        </div>
      )}
      {isOpen && <div>{close}</div>}
    </details>
  )
}

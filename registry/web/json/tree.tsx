import '../looks/json-tree.css'
import { useState } from 'preact/hooks'
import { jsonLiteral } from './literals.ts'
import type { JsonNode } from './text.ts'

/** Entries shown at once of one array or object. */
const page = 100
const maxTextLength = 2_000

/** A JSON value as it was written, opened level by level. */
export const JsonTree = ({ node }: { node: JsonNode }) => (
  <div class="json-tree">
    <Entry node={node} depth={0} />
  </div>
)

const Entry = ({ name, node, depth }: { name?: string; node: JsonNode; depth: number }) => {
  const key = name !== undefined && (
    <>
      <span class="json-key">{name}</span>
      {': '}
    </>
  )
  const entries = entriesOf(node)
  if (entries === undefined || entries.length === 0)
    return (
      <div class="json-leaf">
        {key}
        <Leaf node={node} />
      </div>
    )
  return <Branch label={key} node={node} entries={entries} depth={depth} />
}

type Entries = [name: string | undefined, node: JsonNode][]

const entriesOf = (node: JsonNode): Entries | undefined => {
  if (node.kind === 'array') return node.items.map(item => [undefined, item])
  return node.kind === 'object' ? node.members.map(([key, value]) => [jsonLiteral(key), value]) : undefined
}

interface BranchProps {
  label: preact.ComponentChildren
  node: JsonNode
  entries: Entries
  depth: number
}

const Branch = ({ label, node, entries, depth }: BranchProps) => {
  const [isOpen, setOpen] = useState(depth < 3 && entries.length <= page)
  const [shown, setShown] = useState(page)
  const [open, close] = node.kind === 'array' ? '[]' : '{}'
  const more = Math.min(page, entries.length - shown)
  return (
    <details open={isOpen} onToggle={event => setOpen(event.currentTarget.open)}>
      <summary>
        {label}
        <span class="json-mark">{open}</span>
        {!isOpen && (
          <span class="quiet">
            {' '}
            {entries.length} {node.kind === 'array' ? 'items' : 'fields'}{' '}
          </span>
        )}
        {!isOpen && <span class="json-mark">{close}</span>}
      </summary>
      {isOpen && (
        <>
          <div class="json-inner">
            {entries.slice(0, shown).map(([name, inner], at) => (
              <Entry key={at} {...(name === undefined ? {} : { name })} node={inner} depth={depth + 1} />
            ))}
            {more > 0 && (
              <button type="button" onClick={() => setShown(shown + page)}>
                Show {more} more of {entries.length}
              </button>
            )}
          </div>
          <div class="json-mark">{close}</div>
        </>
      )}
    </details>
  )
}

/** One line of a value, for where there is no room for a tree. */
export const shortJson = (node: JsonNode): string => {
  if (node.kind === 'array') return node.items.length === 0 ? '[]' : `[ ${node.items.length} items ]`
  if (node.kind === 'object') return node.members.length === 0 ? '{}' : `{ ${node.members.length} fields }`
  if (node.kind === 'number') return node.text
  const text = jsonLiteral(node.value)
  return text.length > 200 ? `${text.slice(0, 200)}…` : text
}

const Leaf = ({ node }: { node: JsonNode }) => {
  if (node.kind === 'number') return <span class="json-number">{node.text}</span>
  if (node.kind !== 'string') return <span class="json-literal">{shortJson(node)}</span>
  const text = jsonLiteral(node.value)
  if (text.length <= maxTextLength) return <span class="json-string">{text}</span>
  return (
    <>
      <span class="json-string">{text.slice(0, maxTextLength)}…</span>
      <span class="quiet"> {text.length.toLocaleString('en')} characters; see all under Raw</span>
    </>
  )
}

import type { JsonNode } from './text.ts'

/** JSON in lines, each number as it was written. */
export const formatted = (node: JsonNode, indent = ''): string => {
  const inner = `${indent}  `
  if (node.kind === 'array') {
    const items = node.items.map(item => inner + formatted(item, inner))
    return items.length === 0 ? '[]' : `[\n${items.join(',\n')}\n${indent}]`
  }
  if (node.kind === 'object') {
    const members = node.members.map(([key, value]) => `${inner}${JSON.stringify(key)}: ${formatted(value, inner)}`)
    return members.length === 0 ? '{}' : `{\n${members.join(',\n')}\n${indent}}`
  }
  return node.kind === 'number' ? node.text : JSON.stringify(node.value)
}

/** The same value with the members of each object in the order of their names. */
export const sorted = (node: JsonNode): JsonNode => {
  if (node.kind === 'array') return { ...node, items: node.items.map(sorted) }
  if (node.kind !== 'object') return node
  const members = node.members.map(([key, value]): [string, JsonNode] => [key, sorted(value)])
  return { ...node, members: members.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)) }
}

/** Whether that changes nothing. */
export const isInOrder = (node: JsonNode): boolean => {
  if (node.kind === 'array') return node.items.every(isInOrder)
  if (node.kind !== 'object') return true
  return node.members.every(([key, value], at) => isInOrder(value) && (at === 0 || node.members[at - 1]![0] <= key))
}

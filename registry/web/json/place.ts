import { parsePointer } from '../../../src/schema-diff/pointer.ts'
import { type JsonNode, readJson } from './text.ts'

/** Where the value that a JSON Pointer names starts in a text; its nearest parent's place when it is not there. */
export const placeOfPointer = (text: string, pointer: string): number => {
  let node: JsonNode
  try {
    node = readJson(text)
  } catch {
    return 0
  }
  for (const step of parsePointer(pointer)) {
    const inner = childOf(node, step)
    if (!inner) break
    node = inner
  }
  return node.at
}

const childOf = (node: JsonNode, key: string): JsonNode | undefined => {
  if (node.kind === 'array') return /^\d+$/.test(key) ? node.items[Number(key)] : undefined
  return node.kind === 'object' ? node.members.find(([name]) => name === key)?.[1] : undefined
}

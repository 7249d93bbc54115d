import { jsonText, numberOf } from './exact.ts'
import { type JsonNode, JsonTextError, placeOf, readJson } from './text.ts'

/** What a text stands for, or what is wrong with it; line and column count from 1. */
export type Parsed = { ok: true; value: unknown } | ({ ok: false } & TextProblem)

export interface TextProblem {
  message: string
  line: number
  column: number
}

/** Reads JSON as somebody typed it. Refuses what would not reach a task as it is written, instead of changing it. */
export const parseJson = (text: string): Parsed => {
  // Some editors begin a file with a byte order mark, which JSON does not allow.
  const json = text.replace(/^\ufeff/, '')
  try {
    return { ok: true, value: asValue(readJson(json)) }
  } catch (error) {
    if (!(error instanceof JsonTextError)) throw error
    return { ok: false, message: error.message, ...placeOf(json, error.at) }
  }
}

/** JSON as it is shown to be edited; nothing for what is absent. */
export const textOf = (value: unknown): string => (value === undefined ? '' : jsonText(value, 2))

const asValue = (node: JsonNode): unknown => {
  if (node.kind === 'object') return objectOf(node.members)
  if (node.kind === 'array') return node.items.map(asValue)
  if (node.kind === 'number') return numberAt(node.text, node.at)
  return node.value
}

const objectOf = (members: [string, JsonNode][]): Record<string, unknown> => {
  const object: Record<string, unknown> = {}
  for (const [key, node] of members) {
    if (key === '__proto__') throw new JsonTextError('A key named __proto__ is not allowed.', node.at)
    if (Object.hasOwn(object, key)) throw new JsonTextError(`The key ${JSON.stringify(key)} appears twice.`, node.at)
    object[key] = asValue(node)
  }
  return object
}

const numberAt = (text: string, at: number): number | bigint => {
  const number = numberOf(text)
  if ('problem' in number) throw new JsonTextError(number.problem, at)
  return number.value
}

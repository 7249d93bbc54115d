import { type JsonNode, JsonTextError, placeOf, readJson } from '../json/text.ts'

/** What a text stands for, or what is wrong with it; line and column count from 1. */
export type Parsed = { ok: true; value: unknown } | ({ ok: false } & TextProblem)

export interface TextProblem {
  message: string
  line: number
  column: number
}

/** Reads arguments. Refuses what would not reach the task as it is written, instead of changing it. */
export const parseArguments = (text: string): Parsed => {
  // Some editors begin a file with a byte order mark, which JSON does not allow.
  const json = text.replace(/^\ufeff/, '')
  try {
    return { ok: true, value: asValue(readJson(json)) }
  } catch (error) {
    if (!(error instanceof JsonTextError)) throw error
    return { ok: false, message: error.message, ...placeOf(json, error.at) }
  }
}

/** Arguments as the JSON tab shows them; nothing for what is absent. */
export const textOf = (value: unknown): string => (value === undefined ? '' : JSON.stringify(value, undefined, 2))

const asValue = (node: JsonNode): unknown => {
  if (node.kind === 'object') return objectOf(node.members)
  if (node.kind === 'array') return node.items.map(asValue)
  if (node.kind === 'number') return numberOf(node.text, node.at)
  return node.value
}

const objectOf = (members: [string, JsonNode][]): Record<string, unknown> => {
  const object: Record<string, unknown> = {}
  for (const [key, node] of members) {
    if (key === '__proto__') throw new JsonTextError('A key named __proto__ is not allowed.', node.at)
    if (Object.hasOwn(object, key)) throw new JsonTextError(`The key ${JSON.stringify(key)} comes twice.`, node.at)
    object[key] = asValue(node)
  }
  return object
}

const numberOf = (text: string, at: number): number => {
  const number = Number(text)
  if (!Number.isFinite(number)) throw new JsonTextError(`${text} is larger than a number can be.`, at)
  const isWhole = !/[.eE]/.test(text)
  if (isWhole && String(number) !== text.replace(/^-0$/, '0'))
    throw new JsonTextError(
      `${text} would be changed to ${BigInt(number)}: whole numbers are exact up to 9007199254740991. Send it as text, if the task takes that.`,
      at,
    )
  return number
}

import { type JsonSchema, whyUnusable } from '../task/schema.ts'
import { ConfigError } from '../wire/errors.ts'
import { isObject } from '../wire/foreign.ts'
import { newestFirst, tryParseTaskName } from '../wire/names.ts'

/** What a caller goes by: a task and its schemas. */
export interface TaskSchemas {
  /** `name:version` */
  task: string
  description: string
  args?: JsonSchema | undefined
  result?: JsonSchema | undefined
  /** Of each chunk that it yields; true: it yields, whatever that is. */
  yields?: JsonSchema | true | undefined
}

/** The schema of each chunk, where more is known than that there are some. */
export const chunkSchema = (yields: TaskSchemas['yields']): JsonSchema | undefined =>
  yields === true ? undefined : yields

/** Of tasks, each once and in one order, so that what is written of them changes only where they do. */
export const schemasOf = (cards: readonly TaskSchemas[]): TaskSchemas[] => {
  const byName = new Map(cards.map(card => [card.task, card]))
  return [...byName.values()]
    .filter(({ task }) => tryParseTaskName(task) !== undefined)
    .map(({ task, description, args, result, yields }) => ({
      task,
      description,
      ...(args === undefined ? {} : { args }),
      ...(result === undefined ? {} : { result }),
      ...(yields === undefined ? {} : { yields }),
    }))
    .sort((a, b) => compareNames(a.task, b.task))
}

const compareNames = (a: string, b: string): number => {
  const [left, right] = [tryParseTaskName(a)!, tryParseTaskName(b)!]
  if (left.name !== right.name) return left.name < right.name ? -1 : 1
  return newestFirst(right, left)
}

/** In front of what a file of types was made of, which is its last line. */
const mark = 'pshub:schemas '

/** That line, without what makes a comment of it; in ASCII, because other characters end lines in some languages. */
export const schemasLine = (tasks: readonly TaskSchemas[]): string =>
  `${mark}${JSON.stringify(tasks).replace(/[^ -~]/g, char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)}`

/**
 * Tasks of a file: types that pshub wrote, what `pshub tasks --json` prints, or an OpenAPI document of the registry.
 * @throws ConfigError for anything else
 */
export const readSchemas = (text: string, what: string): TaskSchemas[] => {
  const at = text.lastIndexOf(mark)
  const isTypes = at >= 0 && /^(\/\/|#) ?$/.test(text.slice(text.lastIndexOf('\n', at) + 1, at))
  const json = parsed(isTypes ? text.slice(at + mark.length).split('\n', 1)[0]! : text)
  const tasks = Array.isArray(json) ? json.map(taskOf) : isObject(json) ? ofOpenApi(json) : undefined
  if (tasks && !tasks.includes(undefined)) return schemasOf(tasks as TaskSchemas[])
  throw new ConfigError(
    `${what} holds no tasks: give a file that pshub types wrote, the output of pshub tasks --json, or /openapi.json of the registry.`,
  )
}

/** A JSON Schema alone; undefined for anything else. */
export const readSchema = (text: string): JsonSchema | undefined => {
  const json = parsed(text)
  const isSchema = isObject(json) && !('openapi' in json) && whyUnusable(json) === undefined
  return isSchema ? json : undefined
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const taskOf = (card: unknown): TaskSchemas | undefined => {
  if (!isObject(card) || typeof card.task !== 'string') return undefined
  const { task, description, args, result, yields } = card
  const told = typeof description === 'string' ? description : ''
  return {
    task,
    description: told,
    args: (args ?? undefined) as JsonSchema | undefined,
    result: (result ?? undefined) as JsonSchema | undefined,
    yields: (yields ?? undefined) as JsonSchema | true | undefined,
  }
}

const callPath = '/api/call/'

const ofOpenApi = (document: Record<string, unknown>): (TaskSchemas | undefined)[] | undefined => {
  if (!isObject(document.paths) || document.openapi === undefined) return undefined
  const calls = Object.entries(document.paths).filter(([path]) => path.includes(callPath))
  return calls.map(([path, item]) => {
    const operation = at(item, 'post')
    const ofJson = (part: unknown) => unmoved(document, at(part, 'content', 'application/json', 'schema'))
    const description = at(operation, 'description')
    const yields = at(operation, 'x-pshub-yields')
    return {
      task: decodeURIComponent(path.slice(path.indexOf(callPath) + callPath.length)),
      description: typeof description === 'string' ? description.replace(/\s*Queue \S+, [^\n]*$/, '') : '',
      args: ofJson(at(operation, 'requestBody')),
      result: ofJson(at(operation, 'responses', '200')),
      yields: yields === true ? true : unmoved(document, yields),
    }
  })
}

const at = (value: unknown, ...steps: string[]): unknown =>
  steps.reduce<unknown>((part, step) => (isObject(part) && Object.hasOwn(part, step) ? part[step] : undefined), value)

/** A component as a schema of its own: the registry has put what it refers to into it. */
const unmoved = (document: unknown, schema: unknown): JsonSchema | undefined => {
  const base = at(schema, '$ref')
  if (typeof base !== 'string') return isObject(schema) && Object.keys(schema).length > 0 ? schema : undefined
  const name = /^#\/components\/schemas\/([^/]+)$/.exec(base)?.[1]
  const component = name === undefined ? undefined : at(document, 'components', 'schemas', name)
  if (!isObject(component)) return undefined
  const isInside = (key: string, value: unknown): value is string =>
    key === '$ref' && typeof value === 'string' && (value === base || value.startsWith(`${base}/`))
  return JSON.parse(JSON.stringify(component), (key, value) =>
    isInside(key, value) ? `#${value.slice(base.length)}` : value,
  )
}

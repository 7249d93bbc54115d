import { type JsonSchema, parseExact, stringifyExact, type TaskOverview, whyUnusable } from 'pshub'
import { placeholder, withPlaceholders } from '../schema/secrets.ts'
import type { Readings } from './readings.ts'

/** A value as it is shown; whole: nothing of it is hidden. */
export interface Masked {
  value: unknown
  isWhole: boolean
}

/** How old a reading may be that says that a task is not known. */
const unknownMaxAgeMs = 250
const all: Masked = { value: placeholder, isWhole: false }
/** A schema without any of these words marks nothing, and leads nowhere that might. */
const marks = /"writeOnly"|"password"|"\$(ref|dynamicRef|recursiveRef)"/

/** Hides what nobody is shown who does not ask for it: what schemas mark as secret, or all of it. */
export class Masks {
  readonly #readings: Readings
  readonly #hidesAll: boolean

  constructor(readings: Readings, hidesAll: boolean) {
    this.#readings = readings
    this.#hidesAll = hidesAll
  }

  /** By the schemas of now. @param task one that has to be among them, if there is one */
  async now(task?: string): Promise<Mask> {
    const { overview } = await this.#readings.latest()
    if (task === undefined || overview.tasks.some(known => known.task === task))
      return new Mask(overview.tasks, this.#hidesAll)
    return new Mask((await this.#readings.latest(unknownMaxAgeMs)).overview.tasks, this.#hidesAll)
  }
}

/** What a schema says: undefined, that nothing is secret. */
interface Judge {
  args: JsonSchema
  unusable: string | undefined
}

export class Mask {
  readonly #tasks: ReadonlyMap<string, TaskOverview>
  readonly #hidesAll: boolean
  readonly #judges = new Map<JsonSchema, Judge | undefined>()

  constructor(tasks: readonly TaskOverview[], hidesAll: boolean) {
    this.#tasks = new Map(tasks.map(task => [task.task, task]))
    this.#hidesAll = hidesAll
  }

  args(task: string, value: unknown): Masked {
    const known = this.#tasks.get(task)
    const masked = this.#masked(known, known?.args, value)
    // A run of merged jobs has a list of payloads, each of which is what the schema is of.
    if (known?.keyed !== 'merged' || !Array.isArray(masked.value)) return masked
    const items = masked.value.map(item => this.#masked(known, known.args, item))
    return { value: items.map(item => item.value), isWhole: masked.isWhole && items.every(item => item.isWhole) }
  }

  /** Of JSON, which stays as it was written where nothing is hidden. */
  result(task: string, json: string): { json: string; isWhole: boolean } {
    const known = this.#tasks.get(task)
    const { value, isWhole } = this.#masked(known, known?.result, parsed(json))
    return isWhole ? { json, isWhole } : { json: stringifyExact(value), isWhole }
  }

  #masked(known: TaskOverview | undefined, schema: JsonSchema | undefined, value: unknown): Masked {
    if (value === undefined) return { value, isWhole: true }
    // What nobody declares may be anything.
    if (this.#hidesAll || !known) return all
    const judge = schema === undefined ? undefined : this.#judge(schema)
    return judge ? withPlaceholders(judge, value) : { value, isWhole: true }
  }

  #judge(schema: JsonSchema): Judge | undefined {
    if (this.#judges.has(schema)) return this.#judges.get(schema)
    const judge = marks.test(JSON.stringify(schema)) ? { args: schema, unusable: whyUnusable(schema) } : undefined
    this.#judges.set(schema, judge)
    return judge
  }
}

/** What is no JSON is a text. */
const parsed = (json: string): unknown => {
  try {
    return parseExact(json)
  } catch {
    return json
  }
}

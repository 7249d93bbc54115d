import type { Tool } from '@modelcontextprotocol/sdk/types.js'
import { type Overview, stringifyExact, type TaskOverview } from 'pshub'
import { isCallable } from '../callable.ts'
import type { Reading, Readings, Watcher } from '../readings.ts'
import type { Sdk } from './sdk.ts'
import { toolNameOf } from './tool-name.ts'
import { inputOf, type ObjectSchema, outputOf } from './tool-schema.ts'

/** A tool, and the task that it calls. */
export interface TaskTool {
  task: string
  tool: Tool
  /** The arguments of the task are in the field `args` of the tool's. */
  isWrapped: boolean
  timeoutMs: number
  /** Its handler yields. */
  yields: boolean
  /** Characters of JSON. */
  length: number
  /** What it was made of. */
  source: string
}

export interface ToolsOptions {
  readings: Readings
  /** Whether a task may be run from here. */
  mayRun(task: string): boolean
  /** Whether it was named by itself, and not by a pattern. */
  isNamed(task: string): boolean
  compiles(schema: ObjectSchema): boolean
}

/** A page of the list ends with the tool that makes it as long, in characters of JSON, or with so many tools. */
const pageLength = 1024 * 1024
const pageSize = 500

/** The tools of the tasks that live workers provide and that are allowed here. They come and go with their workers. */
export class Tools implements Watcher {
  readonly #options: ToolsOptions
  readonly #listeners = new Set<() => void>()
  #known = new Map<string, TaskTool>()
  #isRead = false
  #unwatch: (() => void) | undefined

  constructor(options: ToolsOptions) {
    this.#options = options
  }

  /** Is told when the list has become another one, until the function that is returned is called. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    this.#unwatch ??= this.#options.readings.watch(this)
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size > 0) return
      this.#unwatch?.()
      this.#unwatch = undefined
    }
  }

  /** One by its name, of the last reading or, where it is not there, of one that is at most a second old. */
  async find(name: string): Promise<TaskTool | undefined> {
    return (this.#unwatch && this.#known.get(name)) ?? (await this.#now()).get(name)
  }

  /** A page of the list, and the cursor of the next one. */
  async page(cursor: string | undefined): Promise<{ tools: Tool[]; nextCursor?: string }> {
    const names = [...(await this.#now()).keys()].sort().filter(name => cursor === undefined || name > cursor)
    const tools: Tool[] = []
    let length = 0
    for (const name of names) {
      const known = this.#known.get(name)!
      tools.push(known.tool)
      length += known.length
      if (tools.length < pageSize && length < pageLength) continue
      return name === names.at(-1) ? { tools } : { tools, nextCursor: name }
    }
    return { tools }
  }

  onReading({ overview }: Reading): void {
    this.#take(overview)
  }

  /** What was there before counts until it is known what is there. */
  onProblem(): void {}

  async #now(): Promise<Map<string, TaskTool>> {
    this.#take((await this.#options.readings.latest()).overview)
    return this.#known
  }

  #take({ tasks }: Overview): void {
    const before = this.#known
    const allowed = tasks.filter(task => isCallable(task) && this.#isAllowed(task))
    this.#known = new Map(
      allowed.map(task => {
        const name = toolNameOf(task.task)
        return [name, this.#toolOf(name, task, before.get(name))]
      }),
    )
    const isSame =
      before.size === this.#known.size && [...this.#known].every(([name, tool]) => before.get(name) === tool)
    // Whoever has begun to listen before anything was read has seen nothing that could have changed.
    if (!isSame && this.#isRead) for (const listener of this.#listeners) listener()
    this.#isRead = true
  }

  /** What does harm when it is run by mistake is not among `*`. */
  #isAllowed({ task, dangerous }: TaskOverview): boolean {
    return this.#options.mayRun(task) && (dangerous === undefined || this.#options.isNamed(task))
  }

  #toolOf(name: string, card: TaskOverview, before: TaskTool | undefined): TaskTool {
    const { task, description, idempotent, dangerous, timeoutMs, args, result } = { ...card, ...card.exact }
    const yields = card.yields !== undefined
    const source = stringifyExact([description, idempotent, dangerous, timeoutMs, yields, args, result])
    if (before?.source === source) return before
    const { schema, isWrapped } = inputOf(args)
    const outputSchema = outputOf(result, this.#options.compiles)
    const tool = {
      name,
      title: task,
      description: [description, `The task ${task}.`, dangerText(dangerous)].filter(text => text !== '').join('\n\n'),
      inputSchema: schema,
      ...(outputSchema && { outputSchema }),
      // That a task only reads is nowhere declared, so that nothing says it.
      annotations: { title: task, idempotentHint: idempotent, destructiveHint: dangerous !== undefined },
    } as Tool
    return { task, tool, isWrapped, timeoutMs, yields, length: stringifyExact(tool).length, source }
  }
}

const dangerText = (dangerous: string | true | undefined): string => {
  if (dangerous === undefined) return ''
  return dangerous === true ? 'Dangerous: it needs a confirmation.' : `Dangerous: ${dangerous}`
}

/** Compilers keep all that they compiled. */
const maxCompiled = 200

/** Whether clients can compile a schema, which they do with the same. */
export const compiler = ({ AjvJsonSchemaValidator }: Sdk): ((schema: ObjectSchema) => boolean) => {
  let validator = new AjvJsonSchemaValidator()
  let count = 0
  return schema => {
    if (++count % maxCompiled === 0) validator = new AjvJsonSchemaValidator()
    try {
      // It knows JavaScript's numbers alone.
      validator.getValidator(JSON.parse(JSON.stringify(schema)))
      return true
    } catch {
      return false
    }
  }
}

import { command } from '../redis/client.ts'
import type { Redis } from '../redis/connection.ts'
import { HubError, messageOf } from '../wire/errors.ts'
import { isMoment, objectOf } from '../wire/foreign.ts'
import { PayloadProblem } from '../wire/json/json-value.ts'
import type { Keys } from '../wire/keys.ts'
import { tryParseTaskName } from '../wire/names.ts'
import { encodePayload } from '../wire/payload.ts'

/** Named arguments of a task, for everybody who may run it. */
export interface Template {
  name: string
  args: unknown
  /** False: secret fields were omitted. */
  isWhole: boolean
  /** Who saved it. */
  by: string
  /** When, milliseconds since 1970. */
  atMs: number
}

/** So many a task can have; each is a key of its own, so that no reading is without bounds. */
export const mostTemplates = 20
/** So long one may be, as JSON in bytes. */
export const longestTemplate = 16_384
const longestTemplateName = 60
/** One that nobody saved again is forgotten. */
const keptMs = 365 * 24 * 3600_000

type Ask = <T>(commands: (client: Redis) => Promise<T>, otherwise: string) => Promise<T>

/**
 * Named arguments that services on this hub keep. All methods throw HubError NotEnqueued when Redis is unreachable or
 * this user may not, HubClosed, and InvalidArgs for an invalid task name or template.
 */
export class KeptTemplates {
  readonly #ask: Ask
  readonly #keys: () => Keys

  constructor(keys: () => Keys, ask: Ask) {
    this.#keys = keys
    this.#ask = ask
  }

  /** By name. Unreadable ones are omitted; of two with one name the later one counts. */
  async list(task: string): Promise<Template[]> {
    const found = await this.#read(task)
    const byName = new Map<string, Template>()
    for (const template of found)
      if (template && template.atMs >= (byName.get(template.name)?.atMs ?? 0)) byName.set(template.name, template)
    return [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** Replaces a template of the same name. Resolves to whether there was room. */
  async save(task: string, template: Template): Promise<boolean> {
    const text = templateText(task, template)
    if (!readTemplate(text))
      throw wrong(
        task,
        `A template needs a name of 1 to ${longestTemplateName} characters and may have up to ${longestTemplate} bytes.`,
      )
    const found = await this.#read(task)
    const own = found.findIndex(each => each?.name === template.name)
    if (own >= 0) return this.#write(task, own, text, false)
    // Somebody else may take the place at the same time.
    for (const [at, each] of found.entries()) if (!each && (await this.#write(task, at, text, true))) return true
    return false
  }

  /** Resolves to whether it existed. */
  async remove(task: string, name: string): Promise<boolean> {
    const found = await this.#read(task)
    const places = found.flatMap((each, at) => (each?.name === name ? [this.#keys().template(task, at)] : []))
    await this.#ask(
      client => Promise.all(places.map(key => command(client, 'unlink', key))),
      'A template could not be deleted',
    )
    return places.length > 0
  }

  /** Of each place what is there. */
  async #read(task: string): Promise<(Template | undefined)[]> {
    // Keys are made of it.
    if (!tryParseTaskName(task)) throw wrong(task, 'Name the task in full, as in my_task:1.0.')
    const keys = Array.from({ length: mostTemplates }, (_, at) => this.#keys().template(task, at))
    const texts = await this.#ask(
      client =>
        Promise.all(keys.map(key => command(client, 'getrange', key, 0, longestTemplate).catch(unlessOtherType))),
      'Templates could not be read',
    )
    return texts.map(text => readTemplate(String(text)))
  }

  /** @param isNew only where nothing is; what is no template is in nobody's way, but it is not removed either */
  async #write(task: string, at: number, text: string, isNew: boolean): Promise<boolean> {
    const key = this.#keys().template(task, at)
    const answer = await this.#ask(
      client =>
        isNew ? command(client, 'set', key, text, 'PX', keptMs, 'NX') : command(client, 'set', key, text, 'PX', keptMs),
      'A template could not be saved',
    )
    return answer === 'OK'
  }
}

const wrong = (task: string, message: string): HubError =>
  new HubError('InvalidArgs', message, { task: String(task).slice(0, 200) })

const templateText = (task: string, template: Template): string => {
  try {
    return encodePayload(template)
  } catch (error) {
    if (error instanceof PayloadProblem)
      throw new HubError('InvalidArgs', `A template of ${task}: ${error.problem.pointer} ${error.message}.`, {
        task,
        data: { problems: [error.problem] },
        cause: error,
      })
    throw error
  }
}

/** Undefined for what is none. */
const readTemplate = (text: string): Template | undefined => {
  if (text === '' || Buffer.byteLength(text) > longestTemplate) return undefined
  try {
    const { name, args, isWhole, by, atMs } = objectOf(text, longestTemplate, 'exact')
    if (typeof name !== 'string' || name.trim() === '' || name.length > longestTemplateName) return undefined
    if (args === undefined || !isMoment(atMs)) return undefined
    return {
      name,
      args,
      isWhole: isWhole === true,
      by: typeof by === 'string' ? by.slice(0, 100) : '',
      atMs: atMs as number,
    }
  } catch {
    return undefined
  }
}

/** Somebody wrote a list or the like there. */
const unlessOtherType = (error: unknown): string => {
  if (messageOf(error).includes('WRONGTYPE')) return ''
  throw error
}

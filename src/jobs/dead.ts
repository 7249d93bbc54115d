import type { JobQueue } from '../queue/job-queue.ts'
import { command } from '../redis/client.ts'
import type { Redis } from '../redis/connection.ts'
import { HubError } from '../wire/errors.ts'
import type { JobFailure } from '../wire/job-part.ts'
import { decodeRequest, type Request } from '../wire/message.ts'
import { namesOf, refuseHubOptions } from '../wire/options.ts'
import { encodePayload, PayloadProblem } from '../wire/payload.ts'
import type { JobHost } from './job.ts'

/** A job that was given up. */
export interface DeadJob {
  id: string
  queue: string
  /** `name:version` */
  task: string
  args: unknown
  /** Name of the service that enqueued it. */
  from: string | undefined
  /** When it was given up, Redis milliseconds. */
  atMs: number
  /** How often it was tried. */
  tries: number
  /** Its last ten failures, oldest first. */
  errors: JobFailure[]
  /** How many steps of its chain wait for it. */
  following: number
}

/** Which of them; what is not said does not matter. Empty: all. */
export interface DeadFilter {
  ids?: readonly string[] | undefined
  task?: string | undefined
  /** Of the last failure. */
  code?: string | undefined
  /** Given up before this, Redis milliseconds. */
  beforeMs?: number | undefined
}

/** Read at a time: each of them may be a megabyte. */
const page = 20
/** Sent at a time. */
const batch = 20

/** The jobs of a queue that were given up: they are kept for 180 days, 10,000 of them at the most. */
export class DeadJobs {
  readonly #host: JobHost
  readonly #queue: JobQueue
  readonly #namespace: string

  constructor(host: JobHost, queue: JobQueue, namespace: string) {
    this.#host = host
    this.#queue = queue
    this.#namespace = namespace
  }

  /** How many there are, or match. */
  async count(filter?: DeadFilter): Promise<number> {
    if (filter) {
      let count = 0
      for await (const _ of this.#matching(filter)) count++
      return count
    }
    return (await this.#host.ask(client => command(client, 'zcard', this.#queue.keys.dead))) as number
  }

  /**
   * The latest first, at most `limit` (default 100).
   * @throws HubError NotEnqueued when Redis is away, HubClosed
   */
  async list(filter: DeadFilter = {}, limit = 100): Promise<DeadJob[]> {
    const found: DeadJob[] = []
    for await (const { job } of this.#matching(filter)) {
      if (found.push(job) >= limit) break
    }
    return found
  }

  /**
   * Has those that match tried again, from their first try on; a chain goes on with them. `args`: in the place of their own, which makes
   * sense for one of them.
   * @returns how many
   * @throws HubError as list(), InvalidArgs for arguments that are no JSON
   */
  async retry(filter: DeadFilter = {}, options: { args?: unknown } = {}): Promise<number> {
    refuseHubOptions('dead jobs', options, retryNames)
    const args = 'args' in options ? argsText(options.args) : undefined
    return this.#inBatches(filter, texts => this.#host.ask(client => retryDead(client, this.#queue, texts, args)))
  }

  /** Removes those that match, for good. Returns how many. */
  delete(filter: DeadFilter = {}): Promise<number> {
    return this.#inBatches(filter, texts => this.#host.ask(client => this.#queue.deleteDead(client, texts)))
  }

  async #inBatches(filter: DeadFilter, act: (texts: string[]) => Promise<number>): Promise<number> {
    // All are found before the first one goes: what is read by place must not move meanwhile.
    const texts: string[] = []
    for await (const { text } of this.#matching(filter)) texts.push(text)
    let count = 0
    for (let from = 0; from < texts.length; from += batch) count += await act(texts.slice(from, from + batch))
    return count
  }

  async *#matching(filter: DeadFilter): AsyncGenerator<{ job: DeadJob; text: string }> {
    checkFilter(filter)
    const { dead } = this.#queue.keys
    for (let from = 0; ; from += page) {
      const flat = (await this.#host.ask(client =>
        command(client, 'zrange', dead, from, from + page - 1, 'REV', 'WITHSCORES'),
      )) as string[]
      for (let at = 0; at + 1 < flat.length; at += 2) {
        const job = this.#read(flat[at]!, Number(flat[at + 1]))
        if (job && matches(job, filter)) yield { job, text: flat[at]! }
      }
      if (flat.length < 2 * page) return
    }
  }

  /** Undefined for what is no job. */
  #read(text: string, atMs: number): DeadJob | undefined {
    let request: Request
    try {
      request = decodeRequest(text, undefined, this.#namespace)
    } catch {
      return undefined
    }
    const { id, task, args, from, job, then } = request
    const following = Array.isArray(then) ? then.length : 0
    const { tries = 0, errors = [] } = job ?? {}
    return { id, queue: this.#queue.name, task, args, from, atMs, tries, errors, following }
  }
}

/** Has dead jobs, exactly as they lie there, tried again. Returns how many were there. */
export const retryDead = (client: Redis, queue: JobQueue, texts: readonly string[], args?: string): Promise<number> =>
  queue.revive(
    client,
    texts.map(dead => ({ dead, message: revivedMessage(dead, args) })),
  )

const filterNames = namesOf<DeadFilter>({ ids: true, task: true, code: true, beforeMs: true })
const retryNames = namesOf<{ args?: unknown }>({ args: true })

/** What is no filter must not pass for all of them. */
const checkFilter = (filter: DeadFilter): void => {
  refuseHubOptions('dead jobs', filter, filterNames, 'filter')
  if (filter.ids !== undefined && !Array.isArray(filter.ids))
    throw new HubError('InvalidArgs', 'dead jobs: ids must be an array of ids.')
}

const matches = ({ id, task, errors, atMs }: DeadJob, filter: DeadFilter): boolean =>
  (filter.ids === undefined || filter.ids.includes(id)) &&
  (filter.task === undefined || filter.task === task) &&
  (filter.code === undefined || filter.code === errors.at(-1)?.code) &&
  (filter.beforeMs === undefined || atMs < filter.beforeMs)

const argsText = (args: unknown): string => {
  try {
    return encodePayload(args)
  } catch (error) {
    if (error instanceof PayloadProblem) throw new HubError('InvalidArgs', `The arguments are ${error.message}.`)
    throw error
  }
}

/**
 * A dead job as it is enqueued again: wanted for ever, its tries counted anew, its failures still there. Made of its text, so that its
 * arguments are not decoded and encoded again.
 */
export const revivedMessage = (dead: string, args?: string): string => {
  const head = /^\{"at":\d+,"ttl":\d+,("id":"[\w-]+",)(?:"job":(?=\{))?/.exec(dead)
  // What was buried has such a beginning; what somebody else put there goes as it is.
  if (!head) return dead.replace(/^\s*\{/, '')
  const from = head[0].length
  const isPart = head[0].endsWith('"job":')
  const behind = isPart ? endOfValue(dead, from) : from
  const part = isPart ? dead.slice(from, behind).replace(/^\{"tries":\d+/, '{"tries":0') : undefined
  let rest = dead.slice(isPart ? behind + 1 : behind).replace(/,"losses":\d+\}$/, '}')
  const before = args === undefined ? undefined : /^"task":"(?:[^"\\]|\\.)*","args":/.exec(rest)?.[0]
  if (before !== undefined) rest = before + args + rest.slice(endOfValue(rest, before.length))
  return `"ttl":0,${head[1]}${part === undefined ? '' : `"job":${part},`}${rest}`
}

/** Where a value that begins there ends, in text that is JSON. */
const endOfValue = (text: string, from: number): number => {
  let depth = 0
  for (let at = from; at < text.length; at++) {
    const char = text[at]!
    if (char === '"') {
      for (at++; text[at] !== '"' && at < text.length; at++) if (text[at] === '\\') at++
    } else if (char === '{' || char === '[') depth++
    else if (char === '}' || char === ']') {
      if (depth === 0) return at
      depth--
    } else if (char === ',' && depth === 0) return at
    if (depth === 0 && (char === '}' || char === ']')) return at + 1
  }
  return text.length
}

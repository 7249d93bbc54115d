import type { Catalogue } from '../../catalogue/catalogue.ts'
import type { Redis } from '../../redis/connection.ts'
import type { JobFailure, JobPart } from '../../wire/job-part.ts'
import { stringifyExact } from '../../wire/json/exact-json.ts'
import type { Keys } from '../../wire/keys.ts'
import { decodeRequest, type Request } from '../../wire/message.ts'
import { isHeldJob } from '../held-job.ts'
import type { JobState } from '../job-record.ts'
import { WaitingPlaces } from './waiting-places.ts'

export const queuedStates = ['waiting', 'scheduled', 'retrying', 'dead'] as const
/** Where a job lies: in a list for a worker, until its time comes, until its next try, or with those that were given up. */
export type QueuedState = (typeof queuedStates)[number]
/** A queued state, or running: states of jobs whose messages are in Redis. */
export type LyingState = QueuedState | 'running'

/** A job as it lies in Redis, tracked or not. */
export interface QueuedJob {
  /** Undefined where a program without the library put it there and gave it none. */
  id: string | undefined
  queue: string
  state: JobState
  /** `name:version` */
  task: string
  /** Name of the service that enqueued it. */
  from: string | undefined
  priority: 'high' | 'normal' | 'low'
  /** Jobs of its task with the same one run one after the other, or are merged; of a run of several keys the first one and how many more. */
  key: string | undefined
  /** How many payloads wait, of a key whose jobs are merged; undefined for a job. */
  payloads: number | undefined
  /** How often it has failed so far. */
  tries: number
  /** How it failed last. */
  error: JobFailure | undefined
  /** When it came there, Redis milliseconds; undefined where it does not say. */
  enqueuedMs: number | undefined
  /** When its next try is due, Redis milliseconds; of scheduled and retrying ones, and of those with a key that wait for their time. */
  dueMs: number | undefined
  /** When it was given up, Redis milliseconds; of dead ones. */
  deadMs: number | undefined
  /** When it ended, Redis milliseconds; of tracked ones that are kept. */
  endedMs: number | undefined
  /** Worker that runs it, or ran it. */
  worker: string | undefined
}

/** What a reader may see. */
export interface JobLook {
  /** False hides the jobs of a task. */
  sees(task: string): boolean
  /** What is searched for a text instead of the arguments. */
  args(task: string, args: unknown): unknown
}

/** Which of them; what is not said does not matter. */
export interface JobMatch {
  look?: JobLook | undefined
  id?: string | undefined
  task?: string | undefined
  key?: string | undefined
  /** In its id, task, caller, failures or arguments, in whatever case. */
  text?: string | undefined
}

/** One that was found, exactly as it lies there. */
export interface FoundJob {
  job: QueuedJob
  request: Request
  text: string
  /** The list, set or hash that it lies in. */
  key: string
  /** The place behind it: where a search goes on. */
  next: number
}

/** How far one search goes, so that no request reads a whole queue: another one goes on from its end. */
export class SearchBudget {
  #elements = mostSearched
  #bytes = mostBytes

  spend(text: string): void {
    this.#elements--
    this.#bytes -= text.length
  }

  get isSpent(): boolean {
    return this.#elements <= 0 || this.#bytes <= 0
  }
}

/** Read at a time: each of them may be a megabyte. */
const page = 20
const mostSearched = 10_000
const mostBytes = 32 * 1024 * 1024

/** Text of a job, the score under which it lies, if any, and where that is; the worker that runs it; how many payloads are in its place. */
type Element = readonly [text: string, score: number, key: string, worker?: string | undefined, payloads?: number]

/** Looks through the jobs of one state, in the order in which they are taken or due; the dead ones from the latest on. */
export class JobSearch {
  readonly #client: Redis
  readonly #catalogue: Catalogue
  readonly #keys: Keys
  readonly #state: LyingState
  readonly #nowMs: number

  constructor(client: Redis, catalogue: Catalogue, keys: Keys, state: LyingState, nowMs: number) {
    this.#client = client
    this.#catalogue = catalogue
    this.#keys = keys
    this.#state = state
    this.#nowMs = nowMs
  }

  /**
   * Those of a queue that match, from a place on. Where the budget is spent, the place to go on from is returned; else undefined.
   * `atMs`: only those of this time, of jobs that lie by time.
   */
  async *find(
    queue: string,
    match: JobMatch,
    budget: SearchBudget,
    { from = 0, atMs }: { from?: number; atMs?: number | undefined } = {},
  ): AsyncGenerator<FoundJob, number | undefined> {
    let place = from
    for await (const elements of this.#pages(queue, from, atMs)) {
      for (const element of elements) {
        if (budget.isSpent) return place
        place++
        const [text, , key] = element
        budget.spend(text)
        if (match.id !== undefined && !text.includes(`"${match.id}"`)) continue
        const request = this.#request(text)
        if (request && matches(request, match))
          yield { job: this.#read(element, request, queue), request, text, key, next: place }
      }
    }
    return undefined
  }

  #pages(queue: string, from: number, atMs: number | undefined): AsyncGenerator<Element[]> {
    const { scheduled, retries, dead } = this.#keys.queue(queue)
    if (this.#state === 'waiting') return this.#pagesOfLists(queue, from)
    if (this.#state === 'running') return this.#pagesOfHeld(queue, from)
    if (this.#state === 'dead') return this.#pagesOfSet(dead, from, atMs, 'REV')
    return this.#pagesOfSet(this.#state === 'scheduled' ? scheduled : retries, from, atMs)
  }

  async *#pagesOfLists(queue: string, from: number): AsyncGenerator<Element[]> {
    let before = from
    const places = new WaitingPlaces(this.#client, this.#catalogue, this.#keys.queue(queue))
    for await (const { list, of } of places.all()) {
      const found = of && (await places.merged(of))
      if (found && before === 0) yield [[found.text, 0, found.set, undefined, found.payloads]]
      else if (found) before--
      const length = before === 0 ? 0 : await this.#catalogue.ask(this.#client, 0, 'llen', list)
      for (let at = before; before === 0 || before < length; at += page) {
        const texts = await this.#catalogue.ask<string[]>(this.#client, [], 'lrange', list, at, at + page - 1)
        yield texts.map(text => [text, 0, list])
        if (texts.length < page) break
      }
      before = Math.max(0, before - length)
    }
  }

  async *#pagesOfSet(
    set: string,
    from: number,
    atMs: number | undefined,
    ...order: string[]
  ): AsyncGenerator<Element[]> {
    for (let at = from; ; at += page) {
      const range =
        atMs === undefined ? [at, at + page - 1, ...order] : [atMs, atMs, 'BYSCORE', ...order, 'LIMIT', at, page]
      const flat = await this.#catalogue.ask<string[]>(this.#client, [], 'zrange', set, ...range, 'WITHSCORES')
      const elements: Element[] = []
      for (let k = 0; k + 1 < flat.length; k += 2) elements.push([flat[k]!, Number(flat[k + 1]), set])
      yield elements
      if (elements.length < page) return
    }
  }

  /** What live workers hold, without their calls: there are no more jobs than slots. */
  async *#pagesOfHeld(queue: string, from: number): AsyncGenerator<Element[]> {
    const workers = (await this.#catalogue.liveIds(this.#client, queue, this.#nowMs)).sort()
    const held: [key: string, field: string, worker: string][] = []
    for (const worker of workers) {
      const key = this.#keys.queue(queue).held(worker)
      const fields = await this.#catalogue.ask<string[]>(this.#client, [], 'hkeys', key)
      held.push(
        ...fields
          .filter(isHeldJob)
          .sort()
          .map((field): [string, string, string] => [key, field, worker]),
      )
    }
    for (let at = from; at < held.length; at += page) {
      const asked = held.slice(at, at + page)
      const texts = await Promise.all(
        asked.map(([key, field]) => this.#catalogue.ask<(string | null)[]>(this.#client, [null], 'hmget', key, field)),
      )
      yield asked.map(([key, , worker], k) => [texts[k]![0] ?? '', 0, key, worker])
    }
  }

  /** Undefined for what is no job. */
  #request(text: string): Request | undefined {
    try {
      // Workers give one without an id one of their own when they take it.
      return decodeRequest(text, '', this.#keys.namespace)
    } catch {
      return undefined
    }
  }

  #read([, score, , worker, payloads]: Element, { id, task, from, job, atUs }: Request, queue: string): QueuedJob {
    const { tries = 0, errors = [], priority = 'normal', run } = job ?? {}
    const key = job?.key ?? runText(run)
    const state = this.#state
    const cameMs = atUs === undefined ? undefined : Math.floor(atUs / 1000)
    // One with a key waits for its time in its line.
    const isLater = state === 'waiting' && cameMs !== undefined && cameMs > this.#nowMs
    return {
      ...{
        id: id === '' || payloads !== undefined ? undefined : id,
        queue,
        state,
        task,
        from,
        priority,
        key,
        tries,
        payloads,
      },
      error: errors.at(-1),
      enqueuedMs: cameMs,
      dueMs: state === 'scheduled' || state === 'retrying' ? score : isLater ? cameMs : undefined,
      deadMs: state === 'dead' ? score : undefined,
      endedMs: undefined,
      worker,
    }
  }
}

const runText = (run: JobPart['run']): string | undefined =>
  run?.[0] && (run.length === 1 ? run[0].key : `${run[0].key} and ${run.length - 1} more`)

const hasKey = (job: JobPart | undefined, key: string): boolean =>
  job?.key === key || (job?.run ?? []).some(each => each.key === key)

const matches = ({ id, task, from, job, args }: Request, match: JobMatch): boolean => {
  if (match.id !== undefined && match.id !== id) return false
  if (match.task !== undefined && match.task !== task) return false
  if (match.look && !match.look.sees(task)) return false
  if (match.key !== undefined && !hasKey(job, match.key)) return false
  if (match.text === undefined) return true
  const failures = (job?.errors ?? []).flatMap(({ code, message }) => [code, message])
  return holdsText(match.text, [
    id,
    task,
    from ?? '',
    ...failures,
    stringifyExact(match.look ? match.look.args(task, args) : args),
  ])
}

/** Whether one of these has it, in whatever case. */
export const holdsText = (text: string, places: readonly string[]): boolean => {
  const wanted = text.toLowerCase()
  return places.some(place => place.toLowerCase().includes(wanted))
}

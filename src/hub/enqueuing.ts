import { setImmediate as afterWrites } from 'node:timers/promises'
import { Catalogue } from '../catalogue/catalogue.ts'
import type { Events } from '../figures/events.ts'
import { type Step, stepMessage } from '../jobs/chain.ts'
import {
  combined,
  defaultEnqueueMs,
  type EnqueueOptions,
  enqueueOptionNames,
  entryOptionNames,
  placeOf,
  shapeOf,
} from '../jobs/enqueue-options.ts'
import { type EnqueuedMany, type EnqueueEntry, type EnqueueManyOptions, enqueueManyNames } from '../jobs/entries.ts'
import { Job, type JobHost } from '../jobs/job.ts'
import { weightOf } from '../jobs/job-outbox.ts'
import { JobOutboxes } from '../jobs/job-outboxes.ts'
import { batchesOf } from '../queue/batches.ts'
import type { Connection } from '../redis/connection.ts'
import type { Settings } from '../settings/read.ts'
import { monotonicMs } from '../wire/clock.ts'
import { HubError, shown } from '../wire/errors.ts'
import { newId } from '../wire/ids.ts'
import { isId, isQueueName, type Keys } from '../wire/keys.ts'
import type { TraceContext } from '../wire/message.ts'
import { namesOf, refuseHubOptions } from '../wire/options.ts'
import { canonicalText } from '../wire/payload.ts'
import { encodeArgs, nameOf, serialized } from './arguments.ts'
import type { Placement, PreparedStep } from './placement.ts'
import type { Route } from './resolver.ts'
import type { Routes } from './routes.ts'

/** Of tracing what is used here: without the types of OpenTelemetry, which who uses this package may not have. */
export interface EnqueueTracing {
  isHeard(context: TraceContext): boolean
  startEnqueue(operation: string, task: string | undefined): EnqueueSpan | undefined
}

interface EnqueueSpan {
  readonly trace: TraceContext
  sent(queue: string | undefined, id: string | undefined, count?: number): void
  end(error: HubError | undefined): void
}

export interface EnqueuingOptions {
  host: JobHost
  settings: Readonly<Settings>
  keys: Keys
  commands: Connection
  /** Makes the connection for jobs that are to be on a replica, too. */
  makeDurable(): Connection
  routes: Routes
  placement: Placement
  events: Events
  tracing: EnqueueTracing | undefined
}

const mostAtOnce = 100_000
const jobOptionNames = namesOf<{ queue?: string }>({ queue: true })

/** Jobs, from a name and arguments to what is acknowledged in Redis. */
export class Enqueuing {
  readonly #options: EnqueuingOptions
  readonly #outboxes: JobOutboxes

  constructor(options: EnqueuingOptions) {
    this.#options = options
    this.#outboxes = new JobOutboxes(options)
  }

  async enqueue(called: string, args: unknown, options: EnqueueOptions): Promise<Job> {
    const { host, placement } = this.#options
    refuseHubOptions(`enqueue ${called}`, options, enqueueOptionNames)
    const end = monotonicMs() + timeoutOf(called, options)
    return this.traced('enqueue', called, async span => {
      const [step] = await placement.spread([this.stepOf(await this.routeOf(called, options, end), args, options)])
      span?.sent(step.queue, step.id)
      const twins = await this.#send(step.queue, [this.messageOf([step], span?.trace)], options, end)
      return new Job(host, host.queueOf(step.queue), twins.get(0) ?? step.id, step.task, {
        isTwin: twins.size > 0,
      })
    })
  }

  /** Enqueues under a span of whoever asks for it now, where somebody traces. */
  async traced<T>(
    operation: string,
    task: string | undefined,
    enqueue: (span: EnqueueSpan | undefined) => Promise<T>,
  ): Promise<T> {
    const { tracing } = this.#options
    const span = tracing?.isHeard({}) ? tracing.startEnqueue(operation, task) : undefined
    try {
      const enqueued = await enqueue(span)
      span?.end(undefined)
      return enqueued
    } catch (error) {
      span?.end(error as HubError)
      throw error
    }
  }

  /** All are checked before the first is sent; then each batch of them is in Redis as a whole or not at all. */
  async enqueueMany(
    entries: readonly EnqueueEntry[],
    options: EnqueueOptions,
    how: EnqueueManyOptions,
  ): Promise<EnqueuedMany> {
    refuseHubOptions('enqueue many', how, enqueueManyNames)
    const { checkOnly = false, onProgress } = how
    const steps = await this.#options.placement.spread(await this.prepare(entries, options))
    if (checkOnly) return { ids: [], twins: 0 }
    return this.traced('enqueueMany', undefined, span => {
      span?.sent(undefined, undefined, steps.length)
      return this.sendAll(steps, place => this.messageOf([steps[place]!], span?.trace), options, onProgress)
    })
  }

  /**
   * Entries as jobs, none of which is sent yet.
   * @param isWhole false for one whose arguments are not all there yet: then its worker checks them
   * @throws HubError whose `data.index` names the entry that is wrong
   */
  async prepare(
    entries: readonly EnqueueEntry[],
    options: EnqueueOptions,
    isWhole: (place: number) => boolean = () => true,
  ): Promise<PreparedStep[]> {
    if (!Array.isArray(entries) || entries.length > mostAtOnce)
      throw new HubError(
        'InvalidArgs',
        `Pass jobs as a list of at most ${mostAtOnce} entries; split longer lists into several calls.`,
      )
    refuseHubOptions('enqueue', options, enqueueOptionNames)
    const end = monotonicMs() + timeoutOf('many', options)
    const routes = new Map<string, Route>()
    // Most are like the one before them, which is found without making a key.
    let last: (Pick<EnqueueOptions, 'queue' | 'forward'> & { called: string; route: Route }) | undefined
    const steps: PreparedStep[] = []
    for (let index = 0; index < entries.length; index++) {
      const entry = entries[index]
      try {
        if (!Array.isArray(entry)) throw new HubError('InvalidArgs', 'it must be [task, args, options].')
        const [task, args = {}, own] = entry as unknown as EnqueueEntry
        const called = nameOf(task)
        if (own !== undefined) refuseHubOptions(`enqueue ${called}`, own, entryOptionNames)
        const merged = combined(options, own)
        const { queue, forward } = merged
        if (last?.called !== called || last.queue !== queue || last.forward !== forward) {
          const key = `${queue ?? ''}\n${forward ?? ''}\n${called}`
          const route = routes.get(key) ?? (await this.routeOf(called, merged, end))
          routes.set(key, route)
          last = { called, queue, forward, route }
        }
        steps.push(this.stepOf(last.route, serialized(task, args), merged, isWhole(index)))
      } catch (error) {
        if (!(error instanceof HubError)) throw error
        const { code, message, task = called(entry), data } = error
        const details = { task, data: { index, ...(data as object | undefined) }, cause: error }
        throw new HubError(code, `Nothing was enqueued. Entry ${index}: ${message}`, details)
      }
    }
    return steps
  }

  /**
   * Sends jobs, each batch of them as a whole or not at all. Their messages are made batch by batch, the next one while Redis takes this
   * one: all of them at once cost as much again, most of it for keeping them alive.
   */
  async sendAll(
    steps: readonly Step[],
    messageAt: (place: number) => string,
    options: EnqueueOptions,
    onProgress?: (enqueued: number) => void,
  ): Promise<EnqueuedMany> {
    const timeoutMs = timeoutOf('many', options)
    const ids = steps.map(({ id }) => id)
    let enqueued = 0
    let twins = 0
    const sendQueue = async ([queue, places]: [string, number[]]) => {
      const batches = batchesOf(mapped(places, messageAt), weightOf)
      let first = 0
      for (let next = batches.next(); !next.done; ) {
        const texts = next.value
        const sent = this.#send(queue, texts, options, monotonicMs() + timeoutMs)
        const [found, following] = await Promise.all([sent, afterWrites().then(() => batches.next())])
        for (const [at, id] of found) ids[places[first + at]!] = id
        first += texts.length
        enqueued += texts.length
        twins += found.size
        onProgress?.(enqueued)
        next = following
      }
    }
    const outcomes = await Promise.allSettled([...placesByQueue(steps)].map(sendQueue))
    const failed = outcomes.find(outcome => outcome.status === 'rejected')
    if (!failed) return { ids, twins }
    const { code, message } = failed.reason as HubError
    const told = `${enqueued} of ${steps.length} jobs were enqueued (the first of each queue), then it failed: ${message}`
    // Who called it again would enqueue those twice.
    const begun = enqueued > 0 ? ({ ran: 'maybe', retryable: false } as const) : {}
    throw new HubError(code, told, { ...begun, data: { enqueued }, cause: failed.reason })
  }

  /** A job, and what follows it, as it is sent. */
  messageOf(steps: readonly [Step, ...Step[]], trace: TraceContext | undefined): string {
    const { traceparent, tracestate } = trace ?? {}
    return stepMessage(steps, { from: this.#options.settings.name, traceparent, tracestate })
  }

  /** A job that was enqueued before, here or elsewhere. */
  async job(id: string, options: { queue?: string | undefined }): Promise<Job> {
    refuseHubOptions('job', options, jobOptionNames)
    const { queue } = options
    const where = queue === undefined ? '' : ` in queue ${queue}`
    const why = 'it was not tracked, or the record has expired'
    const unknown = new HubError('NoSuchJob', `There is no record of job ${String(id).slice(0, 80)}${where}: ${why}.`)
    if (!isId(id)) throw unknown
    if (queue !== undefined) checkQueue(queue)
    const { host, keys } = this.#options
    const catalogue = new Catalogue(keys)
    const queues = await host.ask(client => catalogue.places(client, queue))
    const records = queues.map(name => keys.queue(name).job(id))
    const found = await host.ask(client => catalogue.askEach(client, 0, count => count === 1, 'exists', records))
    const place = found.indexOf(1)
    if (place === -1) throw unknown
    const jobQueue = host.queueOf(queues[place]!)
    const { task, queue: home } = await new Job(host, jobQueue, id, '').status()
    return new Job(host, host.queueOf(home), id, task)
  }

  stop(): Promise<void> {
    return this.#outboxes.stop()
  }

  /** Into which shards jobs go. */
  get placement(): Placement {
    return this.#options.placement
  }

  /** The keys this hub may have left in Redis. */
  usedKeys(): string[] {
    return this.#outboxes.usedKeys()
  }

  /** A job of a task that goes there. Throws HubError. */
  stepOf(route: Route, args: unknown, options: EnqueueOptions, isWhole = true): PreparedStep {
    const { task, queue, maxPayloadBytes, spread } = route
    const most = Math.min(this.#options.settings.maxPayloadBytes, maxPayloadBytes)
    const json = encodeArgs(isWhole ? route : { ...route, checkArgs: undefined }, args, most)
    if (json instanceof HubError) throw json
    const { part, ttlMs } = shapeOf(task, json, options, route)
    const text = route.keyed === 'merged' ? canonicalText(json) : json
    return { id: newId(), task, queue, args: text, job: part, ttlMs, pass: undefined, spread }
  }

  /** Where a task's jobs go. Throws HubError. */
  async routeOf(called: string, options: EnqueueOptions, end: number): Promise<Route> {
    const { routes, host } = this.#options
    const { queue, purpose } = placeOf(called, options)
    if (host.closing.aborted) throw new HubError('HubClosed', 'This hub was closed; make a new one.')
    if (queue !== undefined) checkQueue(queue)
    this.#options.commands.open()
    return routes.known(called, queue, purpose) ?? routes.find(called, queue, end, undefined, purpose)
  }

  async #send(
    queue: string,
    messages: string[],
    { durable }: EnqueueOptions,
    end: number,
  ): Promise<ReadonlyMap<number, string>> {
    const { events } = this.#options
    const outbox = this.#outboxes.of(queue, durable !== undefined)
    const twins = await outbox.enqueue(messages, Math.max(1, Math.round(end - monotonicMs())))
    events.emit('jobs:enqueued', { queue, count: messages.length - twins.size, twins: twins.size })
    return twins
  }
}

function* mapped<T, R>(entries: readonly T[], made: (entry: T) => R): Generator<R> {
  for (const entry of entries) yield made(entry)
}

const placesByQueue = (steps: readonly Step[]): Map<string, number[]> => {
  const places = new Map<string, number[]>()
  for (const [place, { queue }] of steps.entries()) {
    const own = places.get(queue)
    if (own) own.push(place)
    else places.set(queue, [place])
  }
  return places
}

/** For an error: what was named, whatever it was. */
const called = (entry: unknown): string =>
  String(Array.isArray(entry) ? (entry[0]?.name?.full ?? entry[0]) : entry).slice(0, 120)

/** @throws HubError InvalidArgs */
export const checkQueue = (queue: unknown): void => {
  if (isQueueName(queue)) return
  throw new HubError('InvalidArgs', `queue must be the name of a queue, not ${JSON.stringify(queue)?.slice(0, 80)}.`)
}

const timeoutOf = (what: string, { timeoutMs = defaultEnqueueMs }: EnqueueOptions): number => {
  if (typeof timeoutMs === 'number' && timeoutMs > 0) return timeoutMs
  throw new HubError(
    'InvalidArgs',
    `enqueue ${what}: timeoutMs must be a number of milliseconds, not ${shown(timeoutMs)}.`,
  )
}

import type { JobQueue } from '../queue/job-queue.ts'
import { command, nowMsOf } from '../redis/client.ts'
import type { Redis } from '../redis/connection.ts'
import { HubError } from '../wire/errors.ts'
import { parseNumbers } from '../wire/json/numbers.ts'
import type { TraceContext } from '../wire/message.ts'
import type { Step } from './chain.ts'
import {
  entryText,
  nextOf,
  readEntry,
  runMessage,
  type ScheduleEntry,
  type ScheduleTimes,
  UnknownZone,
} from './cron.ts'
import { Job, type JobHost } from './job.ts'

/** A schedule of a queue. */
export interface Schedule extends ScheduleTimes {
  name: string
  queue: string
  task: string
  args: unknown
  /** Its next run, Redis milliseconds; undefined if it is paused, or has none. */
  nextMs: number | undefined
  /** Since when it is paused; undefined if it is not. */
  pausedMs: number | undefined
  /** When it last enqueued its job, Redis milliseconds; undefined if never. */
  lastMs: number | undefined
  /** Why its next time has passed: no worker knows its time zone. Undefined if there is no such problem. */
  problem: string | undefined
}

const maxTries = 10

/** Enqueues under a span of whoever asks for it now, where somebody traces. */
type Traced = <T>(
  operation: string,
  task: undefined,
  enqueue: (span: { trace: TraceContext; sent(queue: string, id: string): void } | undefined) => Promise<T>,
) => Promise<T>

/** The schedules of one queue. The workers of that queue run them. */
export class Schedules {
  readonly #host: JobHost
  readonly #queue: JobQueue

  readonly #traced: Traced

  constructor(host: JobHost, queue: JobQueue, traced: Traced) {
    this.#host = host
    this.#queue = queue
    this.#traced = traced
  }

  /** All schedules by name; unreadable ones are omitted. @throws HubError NotEnqueued when Redis is unreachable, HubClosed */
  async list(): Promise<Schedule[]> {
    const { cron, ticks } = this.#queue.keys
    const [texts, times] = (await this.#host.ask(client =>
      Promise.all([command(client, 'hgetall', cron), command(client, 'zrange', ticks, 0, -1, 'WITHSCORES')]),
    )) as [Record<string, string>, string[]]
    const found = Object.entries(texts).flatMap(([name, text]) => {
      const entry = readEntry(text)
      if (!entry || !isJson(entry.args)) return []
      const place = times.findIndex((each, at) => at % 2 === 0 && each === name)
      const nextMs = place === -1 ? undefined : Number(times[place + 1])
      return [this.#shown(name, entry, nextMs, texts[lastOf(name)], texts[`${name}:problem`])]
    })
    return found.sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** Stops enqueuing until resume(). Returns false if there is no such schedule. */
  pause(name: string): Promise<boolean> {
    return this.#change(name, (entry, nowMs) => ({ ...entry, pausedMs: entry.pausedMs ?? nowMs }))
  }

  /** It continues with its next time; missed times are skipped. */
  resume(name: string): Promise<boolean> {
    return this.#change(name, entry => ({ ...entry, pausedMs: undefined }))
  }

  /**
   * Enqueues its job now and does not change its times. Returns the existing job if it is a duplicate; undefined if
   * there is no such schedule.
   */
  async run(name: string): Promise<Job | undefined> {
    return this.#traced('schedules.run', undefined, span =>
      this.#host.change(async client => {
        const entry = readEntry(await this.#text(client, name))
        if (!entry) return undefined
        const nowMs = await nowMsOf(client, this.#queue.keys.cron)
        const message = runMessage(entry, this.#queue.name, nowMs, span?.trace)
        const id = /"id":"([\w-]+)"/.exec(message)![1]!
        span?.sent(this.#queue.name, id)
        // Its id is new: as the only batch of a hub of that name it comes once however often this is sent.
        const twin = (await this.#queue.enqueue(client, id, 1, [message])).twins.get(0)
        const { cron, enqueued } = this.#queue.keys
        await command(client, 'unlink', enqueued(id))
        if (twin === undefined) await command(client, 'hset', cron, lastOf(name), await nowMsOf(client, cron))
        return new Job(this.#host, this.#queue, twin ?? id, entry.task, { isTwin: twin !== undefined })
      }),
    )
  }

  /** Returns whether it existed. */
  remove(name: string): Promise<boolean> {
    return this.#host.change(client => this.#queue.removeSchedule(client, name))
  }

  /** Writes a schedule, replacing one of the same name; a paused one stays paused. @throws HubError */
  async write(name: string, times: ScheduleTimes, step: Step, from: string | undefined): Promise<Schedule> {
    const { task, args, job, ttlMs } = step
    return this.#host.change(async client => {
      const written = await this.#replace(client, name, before => ({
        ...times,
        task,
        args,
        job,
        ttlMs,
        from,
        pausedMs: before?.pausedMs,
      }))
      const { cron, ticks } = this.#queue.keys
      const [last, next] = (await Promise.all([
        command(client, 'hget', cron, lastOf(name)),
        command(client, 'zscore', ticks, name),
      ])) as [string | null, string | null]
      return this.#shown(name, written as ScheduleEntry, next === null ? undefined : Number(next), last)
    })
  }

  async #change(name: string, change: (entry: ScheduleEntry, nowMs: number) => ScheduleEntry): Promise<boolean> {
    const written = await this.#host.change(client =>
      this.#replace(client, name, (before, nowMs) => before && change(before, nowMs)),
    )
    // Somebody wrote it who knows other time zones.
    if (written instanceof UnknownZone) throw new HubError('InvalidArgs', `schedule ${name}: ${written.message}.`)
    return written !== undefined
  }

  /** Writes what `make` makes of the entry that is there, again where somebody else wrote it meanwhile: a pause beside a deployment holds. */
  async #replace(
    client: Redis,
    name: string,
    make: (before: ScheduleEntry | undefined, nowMs: number) => ScheduleEntry | undefined,
  ): Promise<ScheduleEntry | UnknownZone | undefined> {
    for (let tries = 1; ; tries++) {
      const text = await this.#text(client, name)
      const nowMs = await nowMsOf(client, this.#queue.keys.cron)
      const entry = make(readEntry(text), nowMs)
      if (!entry) return undefined
      let nextMs: number | undefined
      try {
        nextMs = entry.pausedMs === undefined ? nextOf(entry, nowMs) : undefined
      } catch (error) {
        // Returned, because what is thrown while Redis is asked passes for a connection that broke.
        if (error instanceof UnknownZone) return error
        throw error
      }
      // What is not text, and so never the same as it was read, is replaced whatever it is.
      const expected = tries < maxTries ? (text ?? '') : undefined
      if (await this.#queue.schedule(client, name, entryText(entry), nextMs, expected)) return entry
    }
  }

  /** Null where there is none. */
  async #text(client: Redis, name: string): Promise<string | null> {
    return (await command(client, 'hget', this.#queue.keys.cron, name)) as string | null
  }

  #shown(
    name: string,
    entry: ScheduleEntry,
    nextMs: number | undefined,
    last: string | null | undefined,
    told?: string,
  ): Schedule {
    const { cron, timezone, missed, task, pausedMs } = entry
    const args: unknown = parseNumbers(entry.args, this.#host.bigints === 'exact' ? 'exact' : 'reject')
    const lastMs = /^\d{1,16}$/.test(last ?? '') ? Number(last) : undefined
    // Of a time that was taken since it is over.
    const [, toldMs, why] = /^(\d{1,16}) (.{1,400})$/s.exec(told ?? '') ?? []
    const problem = Number(toldMs) === nextMs ? why : undefined
    return { name, queue: this.#queue.name, cron, timezone, missed, task, args, nextMs, pausedMs, lastMs, problem }
  }
}

/** Beside an entry: when it last enqueued its job. No entry has such a name. */
const lastOf = (name: string): string => `${name}:last`

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

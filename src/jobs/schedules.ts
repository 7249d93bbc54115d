import type { JobQueue } from '../queue/job-queue.ts'
import { command, nowMsOf } from '../redis/client.ts'
import type { Redis } from '../redis/connection.ts'
import type { Step } from './chain.ts'
import { entryText, nextOf, readEntry, runMessage, type ScheduleEntry, type ScheduleTimes } from './cron.ts'
import { Job, type JobHost } from './job.ts'

/** An entry of a queue's schedules. */
export interface Schedule extends ScheduleTimes {
  name: string
  queue: string
  task: string
  args: unknown
  /** Its next time, Redis milliseconds; undefined when it is paused, or has none. */
  nextMs: number | undefined
  /** Since when it is paused; undefined: it is not. */
  pausedMs: number | undefined
  /** When it last enqueued its job, Redis milliseconds; undefined when it never has. */
  lastMs: number | undefined
}

/** The schedules of one queue. Workers of that queue keep them up. */
export class Schedules {
  readonly #host: JobHost
  readonly #queue: JobQueue

  constructor(host: JobHost, queue: JobQueue) {
    this.#host = host
    this.#queue = queue
  }

  /** All of them, by name; what cannot be read is left out. @throws HubError NotEnqueued when Redis is away, HubClosed */
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
      return [this.#shown(name, entry, nextMs, texts[lastOf(name)])]
    })
    return found.sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** Nothing is enqueued any more until resume(). Returns false where there is no such schedule. */
  pause(name: string): Promise<boolean> {
    return this.#change(name, (entry, nowMs) => ({ ...entry, pausedMs: entry.pausedMs ?? nowMs }))
  }

  /** It goes on with its next time; those that passed meanwhile are not made up for. */
  resume(name: string): Promise<boolean> {
    return this.#change(name, entry => ({ ...entry, pausedMs: undefined }))
  }

  /** Enqueues its job now; its times stay as they are. Undefined where there is no such schedule. */
  async run(name: string): Promise<Job | undefined> {
    return this.#host.ask(async client => {
      const entry = await this.#read(client, name)
      if (!entry) return undefined
      const message = runMessage(entry, this.#queue.name, await nowMsOf(client, this.#queue.keys.cron))
      // Its id is new, so that it comes once however often this is sent.
      const id = /"id":"([\w-]+)"/.exec(message)![1]!
      await this.#queue.forward(client, message)
      await this.#queue.forget(client, id)
      await command(client, 'hset', this.#queue.keys.cron, lastOf(name), await nowMsOf(client, this.#queue.keys.cron))
      return new Job(this.#host, this.#queue, id, entry.task)
    })
  }

  /** Returns whether there was one. */
  remove(name: string): Promise<boolean> {
    return this.#host.ask(client => this.#queue.schedule(client, name, '', undefined))
  }

  /** Writes one, in the place of an earlier one of its name; that was paused stays so. @throws HubError */
  async write(name: string, times: ScheduleTimes, step: Step, from: string | undefined): Promise<Schedule> {
    const { task, args, job, ttlMs } = step
    return this.#host.ask(async client => {
      const before = await this.#read(client, name)
      const own = { ...times, task, args, job, ttlMs, from, pausedMs: before?.pausedMs }
      const nextMs = own.pausedMs === undefined ? nextOf(own, await nowMsOf(client, this.#queue.keys.cron)) : undefined
      await this.#queue.schedule(client, name, entryText(own), nextMs)
      const last = (await command(client, 'hget', this.#queue.keys.cron, lastOf(name))) as string | null
      return this.#shown(name, own, nextMs, last)
    })
  }

  /** Undefined where there is none, or none that can be used. */
  async #read(client: Redis, name: string): Promise<ScheduleEntry | undefined> {
    return readEntry((await command(client, 'hget', this.#queue.keys.cron, name)) as string | null)
  }

  async #change(name: string, change: (entry: ScheduleEntry, nowMs: number) => ScheduleEntry): Promise<boolean> {
    return this.#host.ask(async client => {
      const entry = await this.#read(client, name)
      if (!entry) return false
      const nowMs = await nowMsOf(client, this.#queue.keys.cron)
      const changed = change(entry, nowMs)
      const nextMs = changed.pausedMs === undefined ? nextOf(changed, nowMs) : undefined
      return this.#queue.schedule(client, name, entryText(changed), nextMs)
    })
  }

  #shown(name: string, entry: ScheduleEntry, nextMs: number | undefined, last: string | null | undefined): Schedule {
    const { cron, timezone, missed, task, pausedMs } = entry
    const args: unknown = JSON.parse(entry.args)
    const lastMs = /^\d{1,16}$/.test(last ?? '') ? Number(last) : undefined
    return { name, queue: this.#queue.name, cron, timezone, missed, task, args, nextMs, pausedMs, lastMs }
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

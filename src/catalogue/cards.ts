import { type JobFigures, readJobFigures } from '../figures/job-figures.ts'
import type { LoopMs } from '../figures/loop-delay.ts'
import type { TaskCard } from '../task/card.ts'
import { maxDanger } from '../task/danger.ts'
import type { JsonSchema } from '../task/schema.ts'
import { maxTimeoutMs } from '../wire/clock.ts'
import {
  isAmount,
  isCount,
  isMoment,
  isObject,
  maxCardLength,
  maxRecordLength,
  nameOf,
  objectOf,
  textOf,
} from '../wire/foreign.ts'
import { isKeyed } from '../wire/job-part.ts'
import { parseExact } from '../wire/json/exact-json.ts'
import { mayHaveLarge } from '../wire/json/numbers.ts'
import { isQueueName } from '../wire/keys.ts'
import { isBuild, tryParseTaskName } from '../wire/names.ts'

/** What a worker publishes once per identity. PROTOCOL.md's table is made of these comments. */
export interface WorkerCard {
  /** Its id. */
  id: string
  /** The queue that it serves. */
  queue: string
  /** Its machine. */
  host: string
  /** Its process. */
  pid: number
  /** Number of its slots. */
  slots: number
  /** Full name of each task -> digest of its schemas. */
  tasks: Record<string, string>
  /** Client library and its version. */
  client: string
  /**
   * Build of the program, for people: a commit, an image tag. 1 to 64 characters without control characters (U+0000 to U+001F, U+007F to
   * U+009F) and lone surrogates; a reader ignores any other. Absent: unknown.
   */
  build?: string
  /** Redis seconds of its start. */
  started: number
}

/** What a worker publishes with every beat. PROTOCOL.md's table is made of these comments. */
export interface WorkerStats {
  /** Redis milliseconds of the beat. */
  seen: number
  /** Slots in use. */
  busy: number
  /** It is leaving and takes nothing new. */
  draining: boolean
  /** Requests since its start, by outcome; `unserved` ones had no worker for their task. */
  counters: WorkerCounters
  /** Used share of its slots in the last minute, 0 to 1. */
  busyShare?: number
  /** Delay of its event loop in the last minute, ms. */
  loopMs?: LoopMs
  /** Memory of its process. */
  rssBytes?: number
  /** Its jobs since its start, and how late they began. */
  jobs?: JobFigures
}

/** `unserved` are requests without a deadline that no worker takes. */
const counterNames = ['ok', 'rejected', 'failed', 'expired', 'malformed', 'unserved'] as const
/** What a worker counts since its start: requests that ended well, were rejected, failed, expired before they were started, were none, or had nobody to take them. */
export type WorkerCounters = Record<(typeof counterNames)[number], number>

/** A worker as its readers see it. */
export interface LiveWorker extends WorkerCard {
  stats: WorkerStats | undefined
}

/** Where the card of a further queue of a task is; the queue that had it first is in the task's own field. */
export const furtherField = (task: string, queue: string): string => `${task}@${queue}`

/** The task of a field of the hash of task cards. */
export const taskOf = (field: string): string => {
  const at = field.lastIndexOf('@')
  const task = field.slice(0, at)
  // No valid name has an @ in it.
  return at > 0 && isQueueName(field.slice(at + 1)) && tryParseTaskName(task) ? task : field
}

/*
 * Readers. They take what a record's author may have written and nothing else: a member of a wrong type counts as missing, and
 * without those that are required the record is Unreadable.
 */

const defaultTimeoutMs = 5000
const maxDescription = 65_536

/** @throws Unreadable */
export const readTaskCard = (text: string): TaskCard => {
  const card = objectOf(text, maxCardLength)
  const { timeoutMs, keyed, scores, maxPayloadBytes, maxBacklog, beside, at } = card
  return {
    task: nameOf(card, 'task'),
    queue: nameOf(card, 'queue'),
    description: textOf(card.description, maxDescription),
    ...schemasOf(card),
    timeoutMs: isLimit(timeoutMs) ? Math.min(timeoutMs, maxTimeoutMs) : defaultTimeoutMs,
    idempotent: card.idempotent === true,
    ...dangerOf(card.dangerous),
    ...(isKeyed(keyed) ? { keyed } : {}),
    ...(scores === 'first' ? { scores } : {}),
    digest: textOf(card.digest, 64),
    ...(isLimit(maxPayloadBytes) ? { maxPayloadBytes } : {}),
    ...(isLimit(maxBacklog) ? { maxBacklog } : {}),
    ...(beside === true ? { beside } : {}),
    ...(mayHaveLarge(text) ? { exact: schemasOf(parseExact(text) as Record<string, unknown>) } : {}),
    at: isAmount(at) && isMoment(at * 1000) ? at : 0,
  }
}

/** Whoever uses a schema says what is wrong with it. */
const schemasOf = ({
  args,
  result,
  yields,
}: Record<string, unknown>): Pick<TaskCard, 'args' | 'result' | 'yields'> => ({
  ...(args === undefined ? {} : { args: args as JsonSchema }),
  ...(result === undefined ? {} : { result: result as JsonSchema }),
  ...(yields === true || isObject(yields) ? { yields: yields as JsonSchema | true } : {}),
})

/** A text that says nothing warns all the same. */
const dangerOf = (danger: unknown): { dangerous?: string | true } => {
  if (danger === true) return { dangerous: true }
  return typeof danger === 'string' ? { dangerous: textOf(danger, maxDanger).trim() || true } : {}
}

const isLimit = (value: unknown): value is number => isAmount(value) && value > 0

/** @throws Unreadable */
export const readWorkerCard = (text: string): WorkerCard => {
  const card = objectOf(text, maxRecordLength)
  const { pid, slots, tasks, build, started } = card
  const names = isObject(tasks) ? Object.entries(tasks) : []
  return {
    id: nameOf(card, 'id'),
    queue: nameOf(card, 'queue'),
    host: textOf(card.host, 256),
    pid: isCount(pid) ? pid : 0,
    slots: isCount(slots, 65_536) ? slots : 0,
    tasks: Object.fromEntries(names.map(([name, digest]) => [name, textOf(digest, 64)])),
    client: textOf(card.client, 64),
    ...(isBuild(build) ? { build } : {}),
    started: isAmount(started) && isMoment(started * 1000) ? started : 0,
  }
}

/** @throws Unreadable */
export const readStats = (text: string): WorkerStats => {
  const { seen, busy, draining, counters, busyShare, loopMs, rssBytes, jobs } = objectOf(text, maxRecordLength)
  return {
    seen: isMoment(seen) ? seen : Number.NaN,
    busy: isCount(busy) ? busy : 0,
    draining: draining === true,
    counters: countersOf(isObject(counters) ? counters : {}),
    ...(isAmount(busyShare) ? { busyShare: Math.min(1, busyShare) } : {}),
    ...(isObject(loopMs) ? loopMsOf(loopMs) : {}),
    ...(isAmount(rssBytes) ? { rssBytes } : {}),
    ...(isObject(jobs) ? { jobs: readJobFigures(jobs)! } : {}),
  }
}

const loopMsOf = ({ mean, p99, max }: Record<string, unknown>): { loopMs?: LoopMs } =>
  isAmount(mean) && isAmount(p99) && isAmount(max) ? { loopMs: { mean, p99, max } } : {}

const countersOf = (counters: Record<string, unknown>): WorkerCounters =>
  Object.fromEntries(counterNames.map(name => [name, isCount(counters[name]) ? counters[name] : 0])) as WorkerCounters

export type FieldCard = TaskCard & { field: string }

/** Cards that one look reads again of those that were read before. */
const rereadAtOnce = 1000

/**
 * Cards of tasks that were read, for whoever looks each second: they hardly change, and their schemas are long. Of up to a thousand all are read
 * each time; of more those that are new, and a thousand others, round and round.
 */
export class KeptCards {
  #cards = new Map<string, FieldCard>()
  #place = 0

  /** Which of the fields that are there are to be read. */
  due(fields: readonly string[]): string[] {
    if (fields.length <= rereadAtOnce) return [...fields]
    const from = this.#place >= fields.length ? 0 : this.#place
    this.#place = from + rereadAtOnce
    return fields.filter((field, at) => (at >= from && at < from + rereadAtOnce) || !this.#cards.has(field))
  }

  /** All that is known of the fields that are there; `read`: what was read of those that were due, without what cannot be read. */
  take(fields: readonly string[], due: readonly string[], read: readonly FieldCard[]): FieldCard[] {
    const now = new Map(read.map(card => [card.field, card]))
    const isDue = new Set(due)
    const cards = new Map<string, FieldCard>()
    for (const field of fields) {
      const card = isDue.has(field) ? now.get(field) : this.#cards.get(field)
      if (card) cards.set(field, card)
    }
    this.#cards = cards
    return [...cards.values()]
  }
}

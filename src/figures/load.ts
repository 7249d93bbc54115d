import { codeOf, kindOf, outcomeOf } from '../wire/errors.ts'
import { isCount, isObject } from '../wire/foreign.ts'
import type { Phases } from '../wire/phases.ts'
import { maxCallers, otherCallers } from './callers.ts'
import { Histogram } from './histogram.ts'
import { addCounts, type Counts, callsOf, countCall, countOf, noCounts, phaseNames } from './task-stats.ts'

/** Duration of one phase of the calls of the last minute, in microseconds; quantiles are off by at most 1/32. */
export interface Waits {
  count: number
  sum: number
  p50: number
  p95: number
  p99: number
  max: number
}

/** Upper bounds of the buckets of metrics, in microseconds: from half a millisecond to five minutes. */
export const boundsUs: readonly number[] = [
  ...[500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000],
  ...[1e6, 2.5e6, 5e6, 10e6, 30e6, 60e6, 300e6],
]

/** For each phase the number of waits of the last minute within each of `boundsUs`, then of all waits; and their sum in microseconds. */
export type Buckets = Record<keyof Phases, { counts: number[]; sum: number }> & {
  /** Requests that ended, run or not. */
  ended: number
}

/** Figures of the last minute, from all live workers and, for calls without a reply from a worker, from hubs. */
export interface Load {
  /** That ended on workers. */
  callsPerSecond: number
  /** Share of the calls that failed, 0 to 1. */
  errorRate: number
  /** Failed calls by code. A call that timed out while its handler ran may be counted again when its worker ends it. */
  failed: Record<string, number>
  /** Rejected calls by code: those with a code of pshub were not run, all others were rejected by their handlers. */
  rejected: Record<string, number>
  /** Of these, those that were not run. */
  notRun: Record<string, number>
  /** Undefined where nothing ran. */
  us: Record<keyof Phases, Waits | undefined>
}

/** What one task did on one worker, as the registry says. */
export interface TaskRecord {
  totals: Counts
  /** Of these the runs of jobs. */
  jobs: Counts
  /** Calls by calling service, since the worker's start. */
  callers: ReadonlyMap<string, number>
  window: TaskWindow | undefined
}

export interface TaskWindow extends Counts {
  callers: ReadonlyMap<string, number>
  us: Record<keyof Phases, Histogram>
}

/** What a worker published of its tasks. */
export interface WorkerRecord {
  ms: number
  tasks: Map<string, TaskRecord>
  others: TaskWindow | undefined
}

/** Adds up windows of many tasks and workers. */
export class LoadSum {
  readonly #counts = noCounts()
  readonly #us = { backlog: new Histogram(), queue: new Histogram(), exec: new Histogram() }
  #callsPerSecond = 0

  /** `ms` is what this window covers. */
  add(window: TaskWindow | undefined, ms: number): void {
    if (!window) return
    addCounts(this.#counts, window)
    for (const phase of phaseNames) this.#us[phase].add(window.us[phase])
    this.#callsPerSecond += (countOf(window) * 1000) / ms
  }

  /** Calls that ended in their hubs. */
  addUnanswered(code: string, calls: number): void {
    if (calls > 0) countCall(this.#counts, outcomeOf({ code }), code, calls)
  }

  /** What another one added up. */
  addSum(other: LoadSum): void {
    addCounts(this.#counts, other.#counts)
    for (const phase of phaseNames) this.#us[phase].add(other.#us[phase])
    this.#callsPerSecond += other.#callsPerSecond
  }

  /** How many of these waits are within each bound. */
  buckets(): Buckets {
    const us = this.#us
    const within = (phase: keyof Phases) => ({ counts: us[phase].within(boundsUs), sum: us[phase].sum })
    return { ended: countOf(this.#counts), backlog: within('backlog'), queue: within('queue'), exec: within('exec') }
  }

  load(): Load {
    const count = countOf(this.#counts)
    const { failed, rejected } = this.#counts
    const { backlog, queue, exec } = this.#us
    return {
      callsPerSecond: this.#callsPerSecond,
      errorRate: count === 0 ? 0 : callsOf(failed) / count,
      failed,
      rejected,
      notRun: Object.fromEntries(Object.entries(rejected).filter(([code]) => kindOf(code) !== 'TaskFailed')),
      us: { backlog: waitsOf(backlog), queue: waitsOf(queue), exec: waitsOf(exec) },
    }
  }
}

const waitsOf = (histogram: Histogram): Waits | undefined => {
  const { count, sum, max } = histogram
  const at = (q: number) => histogram.quantile(q)!
  return count === 0 ? undefined : { count, sum, p50: at(0.5), p95: at(0.95), p99: at(0.99), max }
}

/** A service that calls a task, on all live workers together. */
export interface TaskCaller {
  /** Its name; '' if it has none, '*' for all services that workers did not count by name. */
  name: string
  /** Calls that ended since each of these workers' start. */
  calls: number
  /** In the last minute. */
  callsPerSecond: number
}

/** Adds up who calls a task. */
export class CallerSum {
  readonly #callers = new Map<string, TaskCaller>()

  /** `ms` is what its window covers. */
  add({ callers, window }: TaskRecord, ms: number): void {
    for (const [name, calls] of callers) this.#of(name).calls += calls
    for (const [name, calls] of window?.callers ?? []) this.#of(name).callsPerSecond += (calls * 1000) / ms
  }

  /** Busiest first: in the last minute, then in all. The others that have no name here come last. */
  list(): TaskCaller[] {
    const isOthers = ({ name }: TaskCaller) => Number(name === otherCallers)
    return [...this.#callers.values()].sort(
      (a, b) =>
        isOthers(a) - isOthers(b) ||
        b.callsPerSecond - a.callsPerSecond ||
        b.calls - a.calls ||
        (a.name < b.name ? -1 : 1),
    )
  }

  #of(name: string): TaskCaller {
    let caller = this.#callers.get(name)
    if (!caller) this.#callers.set(name, (caller = { name, calls: 0, callsPerSecond: 0 }))
    return caller
  }
}

/** A worker that covers more than this at once was not written for this protocol. */
const maxMs = 3_600_000
const maxNameLength = 64

/**
 * Reads what a worker wrote, who may have written anything: what is not as it should be counts as absent. Names that are not
 * in `own`, the tasks of the worker's card, are left out. Never throws.
 */
export const parseWorkerRecord = (value: unknown, own: Record<string, unknown>): WorkerRecord | undefined => {
  if (!isObject(value) || !isObject(value.tasks)) return undefined
  const { ms } = value
  const isTimed = typeof ms === 'number' && ms >= 1 && ms <= maxMs
  const tasks = new Map<string, TaskRecord>()
  for (const [name, record] of Object.entries(value.tasks)) {
    const totals = Object.hasOwn(own, name) ? countsOf(record) : undefined
    if (!totals) continue
    const { jobs, callers, window } = record as { jobs?: unknown; callers?: unknown; window?: unknown }
    tasks.set(name, {
      totals,
      jobs: countsOf(jobs) ?? noCounts(),
      callers: callersOf(callers),
      window: isTimed ? windowOf(window) : undefined,
    })
  }
  return { ms: isTimed ? ms : 1, tasks, others: isTimed ? windowOf(value.others) : undefined }
}

const windowOf = (value: unknown): TaskWindow | undefined => {
  const counts = countsOf(value)
  const { us, callers } = (value ?? {}) as { us?: unknown; callers?: unknown }
  if (!counts || !isObject(us)) return undefined
  const [backlog, queue, exec] = phaseNames.map(phase => Histogram.from(us[phase]))
  return backlog && queue && exec ? { ...counts, callers: callersOf(callers), us: { backlog, queue, exec } } : undefined
}

/** What is no count of a service is left out. */
const callersOf = (value: unknown): ReadonlyMap<string, number> => {
  const entries = isObject(value) ? Object.entries(value) : []
  const counted = entries.filter((entry): entry is [string, number] => {
    const [name, count] = entry
    return name.length <= maxNameLength && isCount(count) && count > 0
  })
  return new Map(counted.slice(0, maxCallers + 1))
}

const countsOf = (value: unknown): Counts | undefined => {
  if (!isObject(value) || !isCount(value.ok)) return undefined
  const counts: Counts = { ...noCounts(), ok: value.ok }
  for (const outcome of ['rejected', 'failed'] as const) {
    const byCode = value[outcome] ?? {}
    if (!isObject(byCode)) return undefined
    for (const [code, calls] of Object.entries(byCode)) {
      if (!isCount(calls)) return undefined
      if (calls > 0) countCall(counts, outcome, codeOf(code), calls)
    }
  }
  return counts
}

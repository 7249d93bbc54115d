import { type CallOutcome, isErrorCode, type Judged, outcomeOf } from '../wire/errors.ts'
import type { Phases } from '../wire/phases.ts'
import { type CallerSlice, Callers, type CallersJson, callersOf } from './callers.ts'
import { Histogram, type HistogramJson } from './histogram.ts'

/** Calls that ended, by outcome; failures by code, with at most `maxOwnCodes` codes of handlers. */
export interface Counts {
  /** Calls that succeeded since the worker's start. */
  ok: number
  /** Rejected calls by code (section 7). */
  rejected: Record<string, number>
  /** Failed calls by code. */
  failed: Record<string, number>
}

export const noCounts = (): Counts => ({ ok: 0, rejected: {}, failed: {} })

/** A handler can make up codes without end: further ones count together. */
export const maxOwnCodes = 50
export const otherCodes = 'Other'

export const phaseNames = ['backlog', 'queue', 'exec'] as const satisfies (keyof Phases)[]

/** What happened in the last minute: all that ended, and the waits of what ran. */
export interface WindowJson extends Counts {
  /** Absent where the windows of several tasks are added up. */
  callers?: CallersJson | undefined
  us: Record<keyof Phases, HistogramJson>
}

/** Counts since the worker's start, and the last minute where there was anything in it. */
export interface TaskStatsJson extends Counts {
  /** Of these the runs of jobs, as `ok`, `rejected` and `failed`. Absent without any. */
  jobs?: Counts
  /** All these calls by `from`, `""` if absent. At most 20 names; the others count as `*`. Absent without room. */
  callers?: CallersJson
  /** The same for the last `ms`, and in `us` histograms (section 11.2) of the phases of section 6. Absent if nothing ended. */
  window?: WindowJson
}

/** What one worker publishes of its tasks. */
export interface WorkerTasksJson {
  /** Milliseconds that the windows cover: the last 50 to 60 s, less after a start. */
  ms: number
  /** By full name, tasks of the worker's card that ever ran. */
  tasks: Record<string, TaskStatsJson>
  /** One window, without `callers`, for all tasks that have none of their own. */
  others?: WindowJson
}

/** A window moves on by one slice at a time and covers five to six of them. */
export const sliceMs = 10_000
export const sliceCount = 6
/** So many tasks at most, the busiest, carry a window of their own; all others go into one together. */
export const maxWindows = 200
/** No further window is added beyond this many characters of them. */
export const maxWindowsLength = 65_536
/** Beyond this many characters tasks without a window are left out, which takes some thousands of them. */
const maxLength = 524_288

interface Slice extends CallerSlice {
  /** On the worker's clock. */
  readonly number: number
  readonly counts: Counts
  readonly us: Record<keyof Phases, Histogram>
}

interface TaskRecord {
  readonly task: string
  readonly totals: Counts
  jobs: Counts | undefined
  readonly callers: Callers
  /** Name, totals and callers as JSON, without the brace at the end; made anew only when something ended. */
  totalsText: string | undefined
  /** Those of the window in which anything happened, oldest first. */
  readonly slices: Slice[]
}

/**
 * What the tasks of one worker did: counts since its start, and counts and waits of the last minute in slices of time. Recording
 * a call allocates nothing, except for what its task did not do within the same slice. Time is in monotonic milliseconds and
 * given by the caller.
 */
export class TaskStats {
  readonly #startedAt: number
  readonly #records = new Map<string, TaskRecord>()
  /** Those with anything in their windows. */
  readonly #active = new Set<TaskRecord>()
  #isChanged = false

  constructor(now: number) {
    this.#startedAt = now
  }

  /** A request that ran. `error` is undefined when it ended well, `from` is the calling service, '' when it gave no name. */
  ran(task: string, error: Judged | undefined, us: Phases, now: number, from = '', isJob = false): void {
    const slice = this.#count(task, error, now, from, isJob)
    slice.us.backlog.record(us.backlog)
    slice.us.queue.record(us.queue)
    slice.us.exec.record(us.exec)
  }

  /** A call that was not started, because its time was up. */
  expired(task: string, now: number, from = ''): void {
    this.#count(task, { code: 'Expired' }, now, from)
  }

  /** True when there is something to publish that was not in the last text, or moves out of the window. */
  get isChanged(): boolean {
    return this.#isChanged || this.#active.size > 0
  }

  /** All of it as JSON, of a bounded length. Costs as much as there are tasks with something in their windows. */
  text(now: number): string {
    this.#isChanged = false
    const texts = new Map<TaskRecord, string>()
    const rest: Slice[] = []
    let length = 0
    for (const record of this.#busiest(now)) {
      const { slices } = record
      const text =
        texts.size < maxWindows && length < maxWindowsLength
          ? JSON.stringify(windowOf(slices, callersOf(slices)))
          : undefined
      if (text === undefined || length + text.length > maxWindowsLength) rest.push(...slices)
      else {
        texts.set(record, text)
        length += text.length
      }
    }
    const others = rest.length === 0 ? '' : `,"others":${JSON.stringify(windowOf(rest))}`
    const tasks: string[] = []
    for (const record of this.#records.values()) {
      const { task, totals, jobs, callers, slices } = record
      const window = texts.get(record)
      if (window === undefined && length > maxLength) continue
      record.totalsText ??= totalsText(task, { ...totals, jobs, callers: callers.totals(slices) })
      // Names may be long and made up: they must not make all of it too long to be read.
      const own = length > maxLength ? totalsText(task, { ...totals, jobs }) : record.totalsText
      const text = `${own}${window === undefined ? '' : `,"window":${window}`}}`
      tasks.push(text)
      length += text.length
    }
    return `{"ms":${this.#coveredMs(now)},"tasks":{${tasks.join(',')}}${others}}`
  }

  #count(task: string, error: Judged | undefined, now: number, from: string, isJob = false): Slice {
    let record = this.#records.get(task)
    if (!record) {
      record = { task, totals: noCounts(), jobs: undefined, callers: new Callers(), totalsText: undefined, slices: [] }
      this.#records.set(task, record)
    }
    record.totalsText = undefined
    this.#isChanged = true
    const slice = this.#sliceOf(record, this.#numberAt(now))
    record.callers.count(from, record.slices)
    const outcome = outcomeOf(error)
    const code = countCall(record.totals, outcome, error?.code)
    countCall(slice.counts, outcome, code)
    if (isJob) countCall((record.jobs ??= noCounts()), outcome, code)
    return slice
  }

  #sliceOf(record: TaskRecord, number: number): Slice {
    const last = record.slices.at(-1)
    // What is told late is not older by much.
    if (last && last.number >= number) return last
    this.#active.add(record)
    forget(record, number - sliceCount + 1)
    const slice = { number, counts: noCounts(), callers: new Map(), isFull: false, us: makeHistograms() }
    record.slices.push(slice)
    return slice
  }

  /** Busiest first. A task that did nothing for a minute gives its memory back. */
  #busiest(now: number): TaskRecord[] {
    const oldest = this.#numberAt(now) - sliceCount + 1
    const counted: [TaskRecord, number][] = []
    for (const record of this.#active) {
      forget(record, oldest)
      if (record.slices.length === 0) this.#active.delete(record)
      else counted.push([record, record.slices.reduce((sum, { counts }) => sum + countOf(counts), 0)])
    }
    return counted.sort((a, b) => b[1] - a[1]).map(([record]) => record)
  }

  #numberAt(now: number): number {
    return Math.floor((now - this.#startedAt) / sliceMs)
  }

  #coveredMs(now: number): number {
    const oldest = Math.max(0, this.#numberAt(now) - sliceCount + 1)
    return Math.max(1, Math.round(now - this.#startedAt - oldest * sliceMs))
  }
}

const makeHistograms = () => ({ backlog: new Histogram(), queue: new Histogram(), exec: new Histogram() })

/** Lets go of the slices before this one. */
const forget = ({ slices, callers }: TaskRecord, oldest: number): void => {
  while (slices.length > 0 && slices[0]!.number < oldest) callers.retire(slices.shift()!)
}

/** Slices of one task, or of several, added up; of several there are no callers. */
const windowOf = (slices: Slice[], callers?: CallersJson): WindowJson => {
  const counts = noCounts()
  const us = makeHistograms()
  for (const slice of slices) {
    addCounts(counts, slice.counts)
    for (const phase of phaseNames) us[phase].add(slice.us[phase])
  }
  return { ...counts, callers, us: { backlog: us.backlog.toJSON(), queue: us.queue.toJSON(), exec: us.exec.toJSON() } }
}

/** Without the brace at the end. */
const totalsText = (task: string, totals: object): string =>
  `${JSON.stringify(task)}:${JSON.stringify(totals).slice(0, -1)}`

/** Returns the code under which it was counted. */
export const countCall = (
  counts: Counts,
  outcome: CallOutcome,
  code: string | undefined,
  calls = 1,
): string | undefined => {
  if (outcome === 'ok' || code === undefined) {
    counts.ok += calls
    return undefined
  }
  const told = isKnown(counts, code) ? code : otherCodes
  counts[outcome][told] = (counts[outcome][told] ?? 0) + calls
  return told
}

/** Or there is room for it. */
const isKnown = ({ rejected, failed }: Counts, code: string): boolean => {
  if (isErrorCode(code) || Object.hasOwn(failed, code) || Object.hasOwn(rejected, code)) return true
  const known = new Set([...Object.keys(failed), ...Object.keys(rejected)].filter(each => !isErrorCode(each)))
  known.delete(otherCodes)
  return known.size < maxOwnCodes
}

/** Adds the second to the first. */
export const addCounts = (sum: Counts, counts: Counts): void => {
  sum.ok += counts.ok
  for (const outcome of ['rejected', 'failed'] as const)
    for (const [code, calls] of Object.entries(counts[outcome])) countCall(sum, outcome, code, calls)
}

/** All that ended, well or not. */
export const countOf = ({ ok, rejected, failed }: Counts): number => ok + callsOf(rejected) + callsOf(failed)

/** All of these codes. */
export const callsOf = (counts: Record<string, number>): number =>
  Object.values(counts).reduce((sum, calls) => sum + calls, 0)

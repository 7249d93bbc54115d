import { type CallerSlice, Callers, type CallersJson, makeCallerCounts } from './callers.ts'
import { Histogram, type HistogramJson } from './histogram.ts'
import type { Phases } from './phases.ts'

/** Calls that ended, by how. `errors` counts by error code; `Expired` are those that were not started any more. */
export interface Counts {
  ok: number
  errors: Record<string, number>
}

export const phaseNames = ['backlog', 'queue', 'exec'] as const satisfies (keyof Phases)[]

/** What happened in the last minute: all that ended, and the waits of what ran. */
export interface WindowJson extends Counts {
  /** Absent where the windows of several tasks are added up. */
  callers?: CallersJson
  us: Record<keyof Phases, HistogramJson>
}

/** Counts since the worker's start, and the last minute where there was anything in it. */
export interface TaskStatsJson extends Counts {
  /** Absent where there is no room for them. */
  callers?: CallersJson
  window?: WindowJson
}

/** What one worker publishes of its tasks. */
export interface WorkerTasksJson {
  /** Milliseconds that the windows cover: up to a minute. */
  ms: number
  /** By name:version; those that ever ran. */
  tasks: Record<string, TaskStatsJson>
  /** The windows of all tasks that have none of their own, because others were busier. */
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

/** `number` is on the worker's clock; a slice that is too old counts for nothing. */
interface Slice extends CallerSlice {
  count: number
  counts: Counts
  us: Record<keyof Phases, Histogram>
}

interface TaskRecord {
  totals: Counts
  callers: Callers
  /** Name, totals and callers as JSON, without the brace at the end; made anew only when something ended. */
  totalsText: string | undefined
  /** Empty while nothing happens. */
  slices: (Slice | undefined)[]
}

/**
 * What the tasks of one worker did: counts since its start, and counts and waits of the last minute in slices that are
 * used again. Recording a call allocates nothing, except for what a task did not do within the last minute. Time is in
 * monotonic milliseconds and given by the caller.
 */
export class TaskStats {
  readonly #startedAt: number
  readonly #records = new Map<string, TaskRecord>()
  /** Those with anything in their windows. */
  readonly #active = new Set<string>()
  #isChanged = false

  constructor(now: number) {
    this.#startedAt = now
  }

  /** A call that ran. `code` is undefined when it ended well, `from` is the calling service, '' when it gave no name. */
  ran(task: string, code: string | undefined, us: Phases, now: number, from = ''): void {
    const slice = this.#count(task, code, now, from)
    slice.us.backlog.record(us.backlog)
    slice.us.queue.record(us.queue)
    slice.us.exec.record(us.exec)
  }

  /** A call that was not started, because its time was up. */
  expired(task: string, now: number, from = ''): void {
    this.#count(task, 'Expired', now, from)
  }

  /** True when there is something to publish that was not in the last text, or moves out of the window. */
  get isChanged(): boolean {
    return this.#isChanged || this.#active.size > 0
  }

  /** All of it as JSON, of a bounded length. Costs as much as there are tasks with something in their windows. */
  text(now: number): string {
    this.#isChanged = false
    const windows = this.#windows(now)
    const texts = new Map<string, string>()
    const rest: Window[] = []
    let length = 0
    for (const window of windows) {
      const text = texts.size < maxWindows && length < maxWindowsLength ? JSON.stringify(window.json()) : undefined
      if (text === undefined || length + text.length > maxWindowsLength) {
        rest.push(window)
        continue
      }
      texts.set(window.task, text)
      length += text.length
    }
    const others = rest.length === 0 ? '' : `,"others":${JSON.stringify(merged(rest).json())}`
    const tasks: string[] = []
    for (const [task, record] of this.#records) {
      const window = texts.get(task)
      if (window === undefined && length > maxLength) continue
      record.totalsText ??= totalsText(task, { ...record.totals, callers: record.callers.totals() })
      // Names may be long and made up: they must not make all of it too long to be read.
      const totals = length > maxLength ? totalsText(task, record.totals) : record.totalsText
      const text = `${totals}${window === undefined ? '' : `,"window":${window}`}}`
      tasks.push(text)
      length += text.length
    }
    return `{"ms":${this.#coveredMs(now)},"tasks":{${tasks.join(',')}}${others}}`
  }

  #count(task: string, code: string | undefined, now: number, from: string): Slice {
    let record = this.#records.get(task)
    if (!record) {
      record = { totals: { ok: 0, errors: {} }, callers: new Callers(), totalsText: undefined, slices: [] }
      this.#records.set(task, record)
    }
    record.totalsText = undefined
    this.#isChanged = true
    const number = this.#numberAt(now)
    const slice = this.#sliceOf(task, record, number)
    slice.count++
    record.callers.count(from, slice, record.slices, number - sliceCount + 1)
    countOne(record.totals, code)
    countOne(slice.counts, code)
    return slice
  }

  #sliceOf(task: string, record: TaskRecord, number: number): Slice {
    const place = number % sliceCount
    let slice = record.slices[place]
    if (slice?.number === number) return slice
    this.#active.add(task)
    if (!slice) {
      slice = record.slices[place] = {
        number,
        count: 0,
        counts: { ok: 0, errors: {} },
        callers: makeCallerCounts(),
        us: { backlog: new Histogram(), queue: new Histogram(), exec: new Histogram() },
      }
      return slice
    }
    slice.number = number
    slice.count = 0
    slice.counts = { ok: 0, errors: {} }
    slice.callers.fill(0)
    for (const phase of phaseNames) slice.us[phase].clear()
    return slice
  }

  /** Busiest first. A task that did nothing for a minute gives its memory back. */
  #windows(now: number): Window[] {
    const oldest = this.#numberAt(now) - sliceCount + 1
    const windows: Window[] = []
    for (const task of this.#active) {
      const record = this.#records.get(task)!
      const slices = record.slices.filter(slice => slice !== undefined && slice.number >= oldest) as Slice[]
      if (slices.length > 0) windows.push(new Window(task, slices, record.callers))
      else {
        this.#active.delete(task)
        record.slices = []
      }
    }
    return windows.sort((a, b) => b.count - a.count)
  }

  #numberAt(now: number): number {
    return Math.floor((now - this.#startedAt) / sliceMs)
  }

  #coveredMs(now: number): number {
    const oldest = Math.max(0, this.#numberAt(now) - sliceCount + 1)
    return Math.max(1, Math.round(now - this.#startedAt - oldest * sliceMs))
  }
}

/** Slices of one task, or of several, that are added up once somebody wants to see them. */
class Window {
  readonly task: string
  readonly count: number
  readonly slices: Slice[]
  readonly #callers: Callers | undefined

  /** `callers` are those of the task; of several there are none. */
  constructor(task: string, slices: Slice[], callers: Callers | undefined) {
    this.task = task
    this.slices = slices
    this.#callers = callers
    this.count = slices.reduce((sum, slice) => sum + slice.count, 0)
  }

  json(): WindowJson {
    const counts: Counts = { ok: 0, errors: {} }
    const us = { backlog: new Histogram(), queue: new Histogram(), exec: new Histogram() }
    for (const slice of this.slices) {
      addCounts(counts, slice.counts)
      for (const phase of phaseNames) us[phase].add(slice.us[phase])
    }
    const callers = this.#callers && { callers: this.#callers.of(this.slices) }
    return {
      ...counts,
      ...callers,
      us: { backlog: us.backlog.toJSON(), queue: us.queue.toJSON(), exec: us.exec.toJSON() },
    }
  }
}

const merged = (windows: Window[]): Window =>
  new Window(
    '',
    windows.flatMap(({ slices }) => slices),
    undefined,
  )

/** Without the brace at the end. */
const totalsText = (task: string, totals: object): string =>
  `${JSON.stringify(task)}:${JSON.stringify(totals).slice(0, -1)}`

const countOne = (counts: Counts, code: string | undefined): void => {
  if (code === undefined) counts.ok++
  else counts.errors[code] = (counts.errors[code] ?? 0) + 1
}

/** Adds the second to the first. */
export const addCounts = (sum: Counts, counts: Counts): void => {
  sum.ok += counts.ok
  for (const [code, count] of Object.entries(counts.errors)) sum.errors[code] = (sum.errors[code] ?? 0) + count
}

/** All that ended, well or not. */
export const countOf = ({ ok, errors }: Counts): number => Object.values(errors).reduce((sum, count) => sum + count, ok)

export const errorCountOf = ({ errors }: Counts): number => Object.values(errors).reduce((sum, count) => sum + count, 0)

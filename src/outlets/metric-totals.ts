import type { Overview, TaskOverview, WorkerOverview } from '../catalogue/overview.ts'
import type { UnansweredOverview } from '../catalogue/unanswered.ts'
import { type Counts, countOf, maxOwnCodes, noCounts, otherCodes, phaseNames } from '../figures/task-stats.ts'
import { type CallOutcome, isErrorCode, outcomeOf } from '../wire/errors.ts'

/** The values of a counter's labels. */
export type Labels = readonly string[]
type Counter = 'calls' | 'jobs' | 'jobRuns' | 'malformed' | 'unserved' | 'unanswered'
type Told = Pick<Overview, 'tasks' | 'workers' | 'unanswered'>

interface Counted {
  labels: Labels
  count: number
}
type Series = Map<string, Counted>

export interface WaitTotals {
  /** How many waits were within each bound, at the end all of them. */
  counts: number[]
  sumUs: number
}

/** What one worker or hub said at the last look. */
interface Source {
  /** Its queue and process; '' for a hub. */
  place: string
  /** All requests that it ever counted. */
  all: number
  /** By series. */
  counts: Map<string, number>
}

/** The names of all tasks in a reading. */
export const tasksIn = ({ tasks, workers, unanswered }: Told): ReadonlySet<string> =>
  new Set([...[...tasks, ...unanswered].map(({ task }) => task), ...workers.flatMap(({ tasks }) => Object.keys(tasks))])

/**
 * Counters that never fall while this process lives, whoever comes and goes: workers count since their own start and take their counts with
 * them. What each one counted more than at the look before is added, so look often: what a worker counts after the last look before it leaves
 * is lost. Counters begin at 0 with the first look; Prometheus takes that for a restart, as it is one.
 */
export class MetricTotals {
  /** By worker or hub. */
  readonly #seen = new Map<string, Source>()
  readonly #counters = new Map<Counter, Series>()
  readonly #waits = new Map<string, { labels: Labels; waits: WaitTotals }>()
  readonly #fromStart: boolean
  #isBegun: boolean

  /** @param fromStart counts what workers counted before the first look, too: for who looks once */
  constructor({ fromStart = false } = {}) {
    this.#fromStart = fromStart
    this.#isBegun = fromStart
  }

  /** Adds what happened since the look before this one. */
  add(told: Told): void {
    const hubs = told.unanswered.map(({ hub }) => `hub ${hub}`)
    this.#renameSources(told.workers)
    const there = new Set([...hubs, ...told.workers.map(({ id }) => id)])
    for (const source of this.#seen.keys()) if (!there.has(source)) this.#seen.delete(source)
    const tasks = new Map(told.tasks.map(task => [task.task, task]))
    // The card of a new id comes a moment before its statistics.
    for (const worker of told.workers) if (worker.live && this.#seen.has(worker.id)) this.#addWorker(worker, tasks)
    for (const calls of told.unanswered) this.#addUnanswered(calls)
    this.#isBegun = true
    this.#dropGone(told)
  }

  /** A hub that had none for an hour is told of again with all that it ever counted. */
  #addUnanswered(calls: UnansweredOverview): void {
    const { hub, count, lastMinute } = calls
    const atFirst = this.#fromStart ? count : lastMinute
    this.#count(`hub ${hub}`, 'unanswered', unansweredLabels(calls), count, atFirst)
  }

  /** The series of a counter: the values of its labels, and its count. */
  counted(counter: Counter): { labels: Labels; count: number }[] {
    return [...(this.#counters.get(counter)?.values() ?? [])]
  }

  /** By queue, task and phase. */
  waits(): { labels: Labels; waits: WaitTotals }[] {
    return [...this.#waits.values()]
  }

  /** A worker that lost its lease goes on under a new id, with all that it counted; one that was started anew counts from 0. */
  #renameSources(workers: readonly WorkerOverview[]): void {
    const live = new Set(workers.flatMap(({ id, live }) => (live ? id : [])))
    for (const worker of workers) {
      if (!worker.live || !worker.stats || this.#seen.has(worker.id)) continue
      const place = placeOf(worker)
      const own: Source = { place, all: 0, counts: new Map() }
      for (const [id, source] of this.#seen) {
        if (source.place !== place || live.has(id) || allOf(worker) < source.all) continue
        own.counts = source.counts
        this.#seen.delete(id)
        break
      }
      this.#seen.set(worker.id, own)
    }
    for (const worker of workers) {
      const source = this.#seen.get(worker.id)
      if (source && worker.live) source.all = Math.max(source.all, allOf(worker))
    }
  }

  /** Hosts and tasks come and go without end; Prometheus takes a series that begins again for a restart. */
  #dropGone(told: Told): void {
    const { workers, unanswered } = told
    const hosts = new Set(workers.map(({ queue, host }) => JSON.stringify([queue, host])))
    const names = tasksIn(told)
    for (const [counter, series] of this.#counters)
      for (const [key, { labels }] of series) {
        if (counter === 'jobRuns') continue
        const isHosts = counter === 'malformed' || counter === 'unserved'
        if (isHosts ? !hosts.has(key) : !names.has(labels[1]!)) series.delete(key)
      }
    // Callers can make up names of tasks; a hub lets go of the oldest ones, and counts them from 0 when they are back.
    const places = new Set(unanswered.map(calls => `${calls.hub} ${placeIn('unanswered', unansweredLabels(calls))}`))
    for (const { hub } of unanswered) {
      const counts = this.#seen.get(`hub ${hub}`)?.counts ?? new Map<string, number>()
      for (const place of counts.keys()) if (!places.has(`${hub} ${place}`)) counts.delete(place)
    }
    for (const [key, { labels }] of this.#waits) if (!names.has(labels[1]!)) this.#waits.delete(key)
  }

  #addWorker(
    { id, queue, host, tasks, totals, jobs, stats }: WorkerOverview,
    overviews: Map<string, TaskOverview>,
  ): void {
    for (const task of Object.keys(tasks)) {
      const all = Object.hasOwn(totals, task) ? totals[task]! : noCounts()
      const ofJobs = Object.hasOwn(jobs, task) ? jobs[task]! : noCounts()
      let ended = 0
      for (const [outcome, code, count] of codesOf(all)) {
        const ran = outcome === 'ok' ? ofJobs.ok : (ofJobs[outcome][code] ?? 0)
        ended += this.#count(id, 'calls', [queue, task, outcome, code], Math.max(0, count - ran))
      }
      if (countOf(ofJobs) > 0)
        for (const [outcome, code, count] of codesOf(ofJobs))
          ended += this.#count(id, 'jobs', [queue, task, outcome, code], count)
      this.#addWaits(queue, task, ended, overviews.get(task))
    }
    if (!stats) return
    const { ran, retried, dead, putOff } = stats.jobs ?? {}
    for (const [outcome, count] of Object.entries({ ran, retried, dead, put_off: putOff }))
      if (count !== undefined) this.#count(id, 'jobRuns', [queue, outcome], count)
    this.#count(id, 'malformed', [queue, host], stats.counters.malformed)
    this.#count(id, 'unserved', [queue, host], stats.counters.unserved)
  }

  /** Of these requests, whose waits nobody tells one by one, as many are within a bound as of all that ended in the last minute. */
  #addWaits(queue: string, task: string, ended: number, overview: TaskOverview | undefined): void {
    if (!overview || overview.buckets.ended === 0) return
    const share = ended / overview.buckets.ended
    for (const phase of phaseNames) {
      const { counts, sum } = overview.buckets[phase]
      const key = JSON.stringify([queue, task, phase])
      const empty = { labels: [queue, task, phase], waits: { counts: counts.map(() => 0), sumUs: 0 } }
      const { waits } = this.#waits.get(key) ?? empty
      if (!this.#waits.has(key)) this.#waits.set(key, { ...empty, waits })
      for (let at = 0; at < counts.length; at++) waits.counts[at]! += counts[at]! * share
      waits.sumUs += sum * share
    }
  }

  /**
   * @param atFirst what counts of it where it was not seen before
   * @returns by how much it grew
   */
  #count(source: string, counter: Counter, labels: Labels, count: number, atFirst = count): number {
    const { counts } = this.#seen.get(source) ?? { counts: new Map<string, number>() }
    if (!this.#seen.has(source)) this.#seen.set(source, { place: '', all: 0, counts })
    const place = placeIn(counter, labels)
    const before = counts.get(place) ?? count - atFirst
    const more = this.#isBegun ? Math.max(0, count - before) : 0
    // Without room a worker leaves out tasks for a while: what is told again then was counted.
    counts.set(place, Math.max(before, count))
    const series = this.#counters.get(counter) ?? new Map<string, Counted>()
    this.#counters.set(counter, series)
    seriesOf(series, labels).count += more
    return more
  }
}

const placeIn = (counter: Counter, labels: Labels): string => `${counter} ${JSON.stringify(labels)}`

const unansweredLabels = ({ queue = '', task, code }: UnansweredOverview): Labels => [
  queue,
  task,
  outcomeOf({ code }),
  code,
]

const placeOf = ({ queue, host, pid }: WorkerOverview): string => JSON.stringify([queue, host, pid])

const allOf = ({ stats }: WorkerOverview): number =>
  Object.values(stats?.counters ?? {}).reduce((sum, count) => sum + count, 0)

/** Many workers, each with other codes of its handlers, must not make series without end. */
const seriesOf = (series: Series, labels: Labels): Counted => {
  const key = JSON.stringify(labels)
  const known = series.get(key)
  if (known) return known
  const [queue, task, outcome, code] = labels
  const isOwn = code !== undefined && code !== 'ok' && code !== otherCodes && !isErrorCode(code)
  const isFull =
    isOwn &&
    [...series.values()].filter(
      ({ labels: [ofQueue, ofTask, , each] }) => ofQueue === queue && ofTask === task && !isErrorCode(each),
    ).length > maxOwnCodes
  if (isFull) return seriesOf(series, [queue!, task!, outcome!, otherCodes])
  const counted = { labels, count: 0 }
  series.set(key, counted)
  return counted
}

/** From 0 on, because Prometheus does not count what a counter begins with: the first failure would not be seen. */
const codesOf = ({ ok, rejected, failed }: Counts): Coded[] => [
  ['ok', 'ok', ok],
  ...Object.entries({ TaskFailed: 0, ...failed }).map(([code, count]): Coded => ['failed', code, count]),
  ...Object.entries(rejected).map(([code, count]): Coded => ['rejected', code, count]),
]

type Coded = [outcome: CallOutcome, code: string, count: number]

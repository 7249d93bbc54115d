import type { Overview, TaskOverview, WorkerOverview } from '../catalogue/overview.ts'
import { type Counts, countOf, noCounts, phaseNames } from '../figures/task-stats.ts'
import { type CallOutcome, outcomeOf } from '../wire/errors.ts'

/** The values of a counter's labels. */
export type Labels = readonly string[]
type Counter = 'calls' | 'jobs' | 'jobRuns' | 'malformed' | 'unserved' | 'unanswered'
type Told = Pick<Overview, 'tasks' | 'workers' | 'unanswered'>

export interface WaitTotals {
  /** How many waits were within each bound, at the end all of them. */
  counts: number[]
  sumUs: number
}

/**
 * Counters that never fall while this process lives, whoever comes and goes: workers count since their own start and take their counts with
 * them. What each one counted more than at the look before is added, so look often: what a worker counts after the last look before it leaves
 * is lost. Counters begin at 0 with the first look; Prometheus takes that for a restart, as it is one.
 */
export class MetricTotals {
  /** By worker or hub, and by series there, what it said at the last look. */
  readonly #seen = new Map<string, Map<string, number>>()
  readonly #counters = new Map<Counter, Map<string, { labels: Labels; count: number }>>()
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
    const there = new Set([...hubs, ...told.workers.map(({ id }) => id)])
    for (const source of this.#seen.keys()) if (!there.has(source)) this.#seen.delete(source)
    const tasks = new Map(told.tasks.map(task => [task.task, task]))
    for (const worker of told.workers) if (worker.live) this.#addWorker(worker, tasks)
    // A hub that had none for an hour is told of again with all that it ever counted.
    for (const { queue = '', task, hub, code, count, lastMinute } of told.unanswered)
      this.#count(
        `hub ${hub}`,
        'unanswered',
        [queue, task, outcomeOf({ code }), code],
        count,
        this.#fromStart ? count : lastMinute,
      )
    this.#isBegun = true
  }

  counted(counter: Counter): { labels: Labels; count: number }[] {
    return [...(this.#counters.get(counter)?.values() ?? [])]
  }

  /** By queue, task and phase. */
  waits(): { labels: Labels; waits: WaitTotals }[] {
    return [...this.#waits.values()]
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
    const key = JSON.stringify(labels)
    const seen = this.#seen.get(source) ?? new Map<string, number>()
    this.#seen.set(source, seen)
    const place = `${counter} ${key}`
    const before = seen.get(place) ?? count - atFirst
    const more = this.#isBegun ? Math.max(0, count - before) : 0
    seen.set(place, count)
    const series = this.#counters.get(counter) ?? new Map<string, { labels: Labels; count: number }>()
    this.#counters.set(counter, series)
    const known = series.get(key)
    if (known) known.count += more
    else series.set(key, { labels, count: more })
    return more
  }
}

/** From 0 on, because Prometheus does not count what a counter begins with: the first failure would not be seen. */
const codesOf = ({ ok, rejected, failed }: Counts): Coded[] => [
  ['ok', 'ok', ok],
  ...Object.entries({ TaskFailed: 0, ...failed }).map(([code, count]): Coded => ['failed', code, count]),
  ...Object.entries(rejected).map(([code, count]): Coded => ['rejected', code, count]),
]

type Coded = [outcome: CallOutcome, code: string, count: number]

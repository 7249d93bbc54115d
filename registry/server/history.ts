import type { Load, Overview } from 'pshub'
import { type History, type HistorySeries, historySeries } from '../contract.ts'
import { Deploys } from './deploys.ts'
import type { Reading, Watcher } from './readings.ts'

export type Kind = 'all' | 'queue' | 'task'
type Values = Partial<Record<HistorySeries, number | undefined>>

const ranges = {
  '15m': { stepMs: 10_000, steps: 90 },
  '1h': { stepMs: 60_000, steps: 60 },
  '1d': { stepMs: 600_000, steps: 144 },
  '30d': { stepMs: 3600_000, steps: 720 },
} as const
const rangeNames = Object.keys(ranges) as Range[]
export type Range = keyof typeof ranges

/** The means of one step; values in the order of historySeries. */
export interface ChartRow {
  kind: Kind
  name: string
  values: (number | null)[]
}

/** Sparklines show the 15 minutes in this many points. */
const trendPoints = 30
/** What is remembered is bounded: so many queues and tasks. While all of these are there, further ones have no charts. */
const maxNames = 2000
/** What is gone may come back, as after a loss of Redis' data. */
const forgetMs = 24 * 3600_000

/** Mean values per step, in a ring that forgets what is older than its range. */
class Track {
  readonly #stepMs: number
  readonly #steps: number
  readonly #values: Float32Array
  #step = Number.NEGATIVE_INFINITY
  #count = 0

  constructor({ stepMs, steps }: { stepMs: number; steps: number }) {
    this.#stepMs = stepMs
    this.#steps = steps
    this.#values = new Float32Array(steps).fill(Number.NaN)
  }

  add(value: number | undefined, atMs: number): void {
    const step = this.#forgetUntil(atMs)
    if (value === undefined || step < this.#step) return
    const place = this.#place(step)
    const before = this.#values[place]!
    this.#values[place] = this.#count === 0 ? value : before + (value - before) / (this.#count + 1)
    this.#count++
  }

  /** Oldest first, up to the step of now. */
  read(atMs: number): (number | null)[] {
    const last = this.#forgetUntil(atMs)
    return Array.from({ length: this.#steps }, (_, at) => {
      const value = this.#values[this.#place(last - this.#steps + 1 + at)]!
      return Number.isNaN(value) ? null : Number(value.toPrecision(5))
    })
  }

  /** Of the step with this number since 1970. */
  at(step: number): number | null {
    if (step > this.#step || step <= this.#step - this.#steps) return null
    const value = this.#values[this.#place(step)]!
    return Number.isNaN(value) ? null : Number(value.toPrecision(3))
  }

  #forgetUntil(atMs: number): number {
    const step = Math.floor(atMs / this.#stepMs)
    // Redis' clock went back, as to that of another server: what was remembered is of no time that is known here.
    if (step < this.#step - 1) this.#step = Number.NEGATIVE_INFINITY
    if (step <= this.#step) return step
    const first = Math.max(this.#step + 1, step - this.#steps + 1)
    for (let gone = first; gone <= step; gone++) this.#values[this.#place(gone)] = Number.NaN
    this.#step = step
    this.#count = 0
    return step
  }

  #place(step: number): number {
    return ((step % this.#steps) + this.#steps) % this.#steps
  }
}

/** What is remembered of one name. */
interface Known {
  seenMs: number
  tracks: Map<HistorySeries, Record<Range, Track>>
}

/** Recent values of what has sparklines. */
export interface Trends {
  of(kind: Kind, name: string, series: HistorySeries): (number | null)[]
  /** The earliest value of the last 15 minutes; undefined where nothing is known. */
  earliest(kind: Kind, name: string, series: HistorySeries): number | undefined
}

/**
 * What charts show: samples of every reading since this service started, in memory. Each series of each name takes some 4 kB,
 * and names are bounded.
 */
export class HistoryStore implements Watcher, Trends {
  readonly deploys: Deploys = new Deploys()
  /** Those that were seen longest ago come first. */
  readonly #known = new Map<string, Known>()
  #atMs = 0
  #lastMs = 0

  onReading({ overview }: Reading): void {
    this.#lastMs = this.#atMs
    this.#atMs = overview.atMs
    this.#record('all', '', valuesOf(overview))
    for (const { queue, ...values } of overview.queues)
      this.#record('queue', queue, { ...values, ...loadValues(values.load) })
    for (const { task, load } of overview.tasks) this.#record('task', task, loadValues(load))
    this.#forgetLongGone()
    this.deploys.onReading(overview)
  }

  onProblem(): void {
    // A gap in the charts says it.
  }

  read(kind: Kind, name: string, range: Range): History {
    const { stepMs, steps } = ranges[range]
    const tracks = this.#known.get(keyOf(kind, name))?.tracks
    const series = historySeries.map(key => [
      key,
      tracks?.get(key)?.[range].read(this.#atMs) ?? new Array<null>(steps).fill(null),
    ])
    const fromMs = (Math.floor(this.#atMs / stepMs) - steps + 1) * stepMs
    return { fromMs, stepMs, series: Object.fromEntries(series), deploys: this.deploys.of(kind, name, fromMs) }
  }

  /** What is known of one step of all names. */
  rowsOf(range: Range, step: number): ChartRow[] {
    return [...this.#known].flatMap(([key, { tracks }]) => {
      const values = historySeries.map(series => tracks.get(series)?.[range].at(step) ?? null)
      const [kind, name] = [key.slice(0, key.indexOf(' ')) as Kind, key.slice(key.indexOf(' ') + 1)]
      return values.every(value => value === null) ? [] : [{ kind, name, values }]
    })
  }

  /** What was known before a restart. The oldest comes first, and all of it before the first reading. */
  recall(atMs: number, rows: ChartRow[], into: readonly Range[]): void {
    this.#lastMs = this.#atMs
    this.#atMs = atMs
    for (const { kind, name, values } of rows) {
      const known = values.flatMap((value, at) => (value === null ? [] : [[historySeries[at]!, value]]))
      this.#record(kind, name, Object.fromEntries(known), into)
    }
  }

  of(kind: Kind, name: string, series: HistorySeries): (number | null)[] {
    const track = this.#known.get(keyOf(kind, name))?.tracks.get(series)?.['15m']
    if (!track) return new Array<null>(trendPoints).fill(null)
    const values = track.read(this.#atMs)
    const width = values.length / trendPoints
    // The last point is left out while it grows: a row whose sparkline changes with every reading is sent with every reading.
    return Array.from({ length: trendPoints }, (_, at) =>
      meanOf(values.slice(Math.max(0, at * width - 1), (at + 1) * width - 1)),
    )
  }

  earliest(kind: Kind, name: string, series: HistorySeries): number | undefined {
    const track = this.#known.get(keyOf(kind, name))?.tracks.get(series)?.['15m']
    return track?.read(this.#atMs).find(value => value !== null) ?? undefined
  }

  #record(kind: Kind, name: string, values: Values, into: readonly Range[] = rangeNames): void {
    const known = this.#see(keyOf(kind, name))
    if (!known) return
    const { tracks } = known
    for (const series of historySeries) {
      if (!(series in values)) continue
      let track = tracks.get(series)
      if (!track) tracks.set(series, (track = newTracks()))
      for (const range of into) track[range].add(values[series], this.#atMs)
    }
  }

  /** Undefined when there is no room. */
  #see(key: string): Known | undefined {
    let known = this.#known.get(key)
    if (!known) {
      if (this.#known.size >= maxNames && !this.#forgetOneGone()) return undefined
      known = { seenMs: this.#atMs, tracks: new Map() }
    }
    known.seenMs = this.#atMs
    this.#known.delete(key)
    this.#known.set(key, known)
    return known
  }

  #forgetOneGone(): boolean {
    const [first] = this.#known
    return first !== undefined && first[1].seenMs < this.#lastMs && this.#known.delete(first[0])
  }

  #forgetLongGone(): void {
    for (const [key, { seenMs }] of this.#known) {
      if (this.#atMs - seenMs <= forgetMs) return
      this.#known.delete(key)
    }
  }
}

const newTracks = (): Record<Range, Track> => ({
  '15m': new Track(ranges['15m']),
  '1h': new Track(ranges['1h']),
  '1d': new Track(ranges['1d']),
  '30d': new Track(ranges['30d']),
})

const keyOf = (kind: Kind, name: string): string => `${kind} ${name}`

const meanOf = (values: (number | null)[]): number | null => {
  const known = values.filter(value => value !== null)
  return known.length === 0 ? null : Number((known.reduce((a, b) => a + b, 0) / known.length).toPrecision(3))
}

const loadValues = ({ callsPerSecond, errorRate, us }: Load): Values => ({
  callsPerSecond,
  errorRate,
  backlogP95Us: us.backlog?.p95,
  execP50Us: us.exec?.p50,
  execP95Us: us.exec?.p95,
})

const valuesOf = ({ queues, load }: Overview): Values => {
  const ages = queues.flatMap(({ oldestMs }) => oldestMs ?? [])
  const jobAges = queues.flatMap(({ oldestJobMs }) => oldestJobMs ?? [])
  const telling = queues.filter(({ busyShare, slots }) => busyShare !== undefined && slots > 0)
  const slots = telling.reduce((total, queue) => total + queue.slots, 0)
  return {
    ...loadValues(load),
    backlog: queues.reduce((total, { backlog }) => total + backlog, 0),
    oldestMs: ages.length > 0 ? Math.max(...ages) : 0,
    jobs: queues.reduce((total, { jobs }) => total + jobs, 0),
    oldestJobMs: jobAges.length > 0 ? Math.max(...jobAges) : 0,
    dead: queues.reduce((total, { dead }) => total + dead, 0),
    busyShare: slots > 0 ? telling.reduce((total, q) => total + q.busyShare! * q.slots, 0) / slots : undefined,
  }
}

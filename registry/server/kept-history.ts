import type { FastifyBaseLogger } from 'fastify'
import type { Hub } from 'pshub'
import { type Deploy, historySeries } from '../contract.ts'
import { type BuildsRow, readBuildsRow } from './builds.ts'
import { deployRow, readDeployRow } from './deploys.ts'
import type { ChartRow, HistoryStore, Kind } from './history.ts'
import type { Reading, Watcher } from './readings.ts'

const minuteMs = 60_000
const hourMs = 3600_000
const stepMs = { minute: minuteMs, hour: hourMs }
const longest = 16_384
/** A record that is shorter had room for everything. */
const roomyBytes = 15_000
const kinds: readonly unknown[] = ['all', 'queue', 'task'] satisfies Kind[]

/** Rows beyond 16384 bytes are left out, the last ones first. */
const chartText = (rows: ChartRow[], deploys: Deploy[] = [], builds: BuildsRow[] = []): string => {
  const parts: string[] = []
  let bytes = 1
  const charts = rows.map(({ kind, name, values }) => [kind, name, ...values])
  for (const row of [...deploys.map(deployRow), ...builds, ...charts]) {
    const part = JSON.stringify(row)
    bytes += Buffer.byteLength(part) + 1
    if (bytes > longest) break
    parts.push(part)
  }
  return `[${parts.join(',')}]`
}

const isValue = (value: unknown): value is number | null =>
  value === null || (typeof value === 'number' && Number.isFinite(value) && value >= 0)

const arraysIn = (text: string): unknown[][] => {
  try {
    const read: unknown = JSON.parse(text || '[]')
    return Array.isArray(read) ? read.filter(row => Array.isArray(row)) : []
  } catch {
    return []
  }
}

const readChartRow = (row: readonly unknown[]): ChartRow | undefined => {
  if (row.length !== historySeries.length + 2) return undefined
  const [kind, name, ...values] = row
  if (!kinds.includes(kind) || typeof name !== 'string' || name.length > 200 || !values.every(isValue)) return undefined
  return { kind: kind as Kind, name, values }
}

/** What a record has. What Redis has may be anything: rows that are none are left out. */
export interface ChartRecord {
  charts: ChartRow[]
  deploys: Deploy[]
  builds: BuildsRow[]
}

/** Parses it once: a restart reads two thousand of them. */
const readChartRecord = (text: string): ChartRecord => {
  const rows = arraysIn(text)
  return {
    charts: rows.flatMap(row => readChartRow(row) ?? []),
    deploys: rows.flatMap(row => readDeployRow(row) ?? []),
    builds: rows.map(readBuildsRow).filter(row => row !== undefined),
  }
}

/** What all records together tell of deploys. */
interface Past {
  tasks: Set<string>
  deploys: Deploy[]
  /** Of the latest record that has any. */
  builds: BuildsRow[]
  /** No record was cut: a task that is in none was not there. */
  areAll: boolean
}

/**
 * Keeps the charts in Redis: after each minute and each hour its means, unless another registry did. While that fails they are in memory
 * alone, and the log says so once.
 */
export class KeptHistory implements Watcher {
  readonly #history: HistoryStore
  readonly #hub: Hub
  readonly #log: FastifyBaseLogger
  #atMs: number | undefined
  #isWarned = false

  constructor(history: HistoryStore, hub: Hub, log: FastifyBaseLogger) {
    this.#history = history
    this.#hub = hub
    this.#log = log
  }

  /** Reads what there is, before the first reading. */
  async restore(): Promise<void> {
    try {
      const { atMs } = await this.#hub.overview()
      const hours = await this.#hub.charts.read('hour', Math.floor(atMs / hourMs))
      const minutes = await this.#hub.charts.read('minute', Math.floor(atMs / minuteMs))
      const past: Past = { tasks: new Set(), deploys: [], builds: [], areAll: true }
      const known = new Set(hours.filter(({ text }) => text !== '').map(({ number }) => number))
      // In the order of time: a track takes one that goes back for another clock.
      for (const { number, text } of hours) this.#recall(number * hourMs, text, ['30d'], past)
      for (const { number, text } of minutes) {
        const isInHour = known.has(Math.floor((number * minuteMs) / hourMs))
        this.#recall(number * minuteMs, text, isInHour ? ['1h', '1d'] : ['1h', '1d', '30d'], past)
      }
      const { deploys } = this.#history
      deploys.builds.recall(past.builds)
      deploys.recall(past.deploys, [...past.tasks], past.areAll)
    } catch (error) {
      this.#warn(error as Error)
    }
  }

  onReading(reading: Reading): void {
    const before = this.#atMs
    const { atMs } = reading.overview
    this.#atMs = atMs
    this.#history.onReading(reading)
    if (before === undefined) return
    const minute = Math.floor(before / minuteMs)
    if (Math.floor(atMs / minuteMs) > minute) void this.#keep('minute', '1h', minute)
    const hour = Math.floor(before / hourMs)
    if (Math.floor(atMs / hourMs) > hour) void this.#keep('hour', '30d', hour)
  }

  onProblem(): void {
    // A gap in the charts says it.
  }

  #recall(atMs: number, text: string, ranges: Parameters<HistoryStore['recall']>[2], past: Past): void {
    const { charts, deploys, builds } = readChartRecord(text)
    this.#history.recall(atMs, charts, ranges)
    for (const { kind, name } of charts) if (kind === 'task') past.tasks.add(name)
    past.deploys.push(...deploys)
    if (builds.length > 0) past.builds = builds
    if (Buffer.byteLength(text) >= roomyBytes) past.areAll = false
  }

  async #keep(step: 'minute' | 'hour', range: '1h' | '30d', number: number): Promise<void> {
    try {
      const { deploys } = this.#history
      const news = deploys.inStep(number, stepMs[step])
      const text = chartText(this.#history.rowsOf(range, number), news, deploys.builds.rows())
      await this.#hub.charts.write(step, number, text)
    } catch (error) {
      this.#warn(error as Error)
    }
  }

  #warn(error: Error): void {
    if (this.#isWarned) return
    this.#isWarned = true
    const why = `${error.message} To see which rights its user lacks: pshub check --for registry`
    this.#log.warn(`charts cannot be saved in Redis and will be lost when this process ends: ${why}`)
  }
}

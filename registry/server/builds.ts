import type { Overview } from 'pshub'
import { isRowText } from './row-text.ts'

/** What is remembered: so many queues; and in one record of Redis so many builds of queues. */
const maxQueues = 2000
const maxInRecord = 100
/** A build that has no worker for so long, while others of its queue have, was replaced: a worker that starts anew is back before. */
const replacedMs = 60_000

/** A build and the queues that run it, as it is kept in Redis. */
export type BuildsRow = ['builds', build: string, ...queues: string[]]

export interface Build {
  build: string
  queue: string
}

/** Which builds of users' programs the workers of each queue run. */
export class Builds {
  /** By queue, those that were seen longest ago first: since when each of its builds is away; undefined: it is not. */
  readonly #of = new Map<string, Map<string, number | undefined>>()

  get size(): number {
    return this.#of.size
  }

  /** Those that came since the reading before. `isFirst`: to who has just begun to look only those are new whose queue was recalled. */
  onReading(overview: Overview, isFirst: boolean): Build[] {
    const live = liveBuilds(overview)
    // While nobody serves it nothing is replaced.
    for (const [queue, known] of this.#of)
      if (!live.has(queue)) for (const build of known.keys()) known.set(build, undefined)
    const news: Build[] = []
    for (const [queue, builds] of live) {
      const isKnown = this.#of.has(queue)
      const came = this.#see(queue, builds, overview.atMs)
      if (!isFirst || isKnown) news.push(...came.map(build => ({ build, queue })))
    }
    for (const queue of this.#of.keys()) {
      if (this.#of.size <= Math.max(maxQueues, live.size)) break
      this.#of.delete(queue)
    }
    return news
  }

  /** For a record. */
  rows(): BuildsRow[] {
    const rows = new Map<string, BuildsRow>()
    let left = maxInRecord
    for (const [queue, known] of [...this.#of].reverse())
      for (const build of known.keys()) {
        if (left-- <= 0) return [...rows.values()]
        rows.set(build, [...(rows.get(build) ?? (['builds', build] as const)), queue])
      }
    return [...rows.values()]
  }

  /** Those of the latest record, before the first reading. */
  recall(rows: readonly BuildsRow[]): void {
    for (const [, build, ...queues] of rows)
      for (const queue of queues) this.#of.set(queue, (this.#of.get(queue) ?? new Map()).set(build, undefined))
  }

  /** Returns those that came. What they replaced is forgotten, so that it comes anew when it comes back. */
  #see(queue: string, builds: ReadonlySet<string>, atMs: number): string[] {
    const known = this.#of.get(queue) ?? new Map<string, number | undefined>()
    const came = [...builds].filter(build => !known.has(build))
    for (const [build, awayMs = atMs] of known) {
      if (builds.has(build)) continue
      if (came.length > 0 || atMs - awayMs >= replacedMs) known.delete(build)
      else known.set(build, awayMs)
    }
    for (const build of builds) known.set(build, undefined)
    this.#of.delete(queue)
    this.#of.set(queue, known)
    return came
  }
}

/** By queue; one that is spread over shards is one queue. */
const liveBuilds = ({ workers, queues }: Overview): Map<string, Set<string>> => {
  const wholes = new Map(queues.flatMap(({ queue, shards = [] }) => shards.map(shard => [shard.queue, queue] as const)))
  const live = new Map<string, Set<string>>()
  for (const worker of workers) {
    if (!worker.live || worker.build === undefined) continue
    const queue = wholes.get(worker.queue) ?? worker.queue
    live.set(queue, (live.get(queue) ?? new Set()).add(worker.build))
  }
  return live
}

/** What Redis has may be anything: undefined for what is none. */
export const readBuildsRow = (row: readonly unknown[]): BuildsRow | undefined =>
  row[0] === 'builds' && row.length > 2 && row.slice(1).every(isRowText) ? (row as BuildsRow) : undefined

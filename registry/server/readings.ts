import { type Hub, HubError, MetricTotals, type Overview } from 'pshub'

/** What the registry said at one moment, and how long it took to read. */
export interface Reading {
  overview: Overview
  tookMs: number
}

export interface Watcher {
  onReading(reading: Reading): void
  /** The registry could not be read; the next try follows. */
  onProblem(message: string): void
}

/** How often the registry is read while somebody looks, and while nobody does: counted from the end of the last reading. */
const watchedMs = 1000
const unwatchedMs = 5000

/**
 * Reads the registry for all who look, once for all of them: what an open page costs Redis does not depend on how many are
 * open. It goes on at a slower pace without any, for the charts.
 */
export class Readings {
  /** Of all readings: counters of metrics, which go on when a worker leaves. */
  readonly totals = new MetricTotals()
  readonly #hub: Hub
  readonly #watchers = new Set<Watcher>()
  readonly #recorder: Watcher
  #latest: Reading | undefined
  #latestAt = Number.NEGATIVE_INFINITY
  #underWay: Promise<Reading> | undefined
  #timer: NodeJS.Timeout | undefined
  #isInRound = false
  #isClosed = false

  /** @param recorder is told of each reading, but does not count as somebody who looks */
  constructor(hub: Hub, recorder: Watcher) {
    this.#hub = hub
    this.#recorder = recorder
  }

  start(): void {
    this.#schedule(0)
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }

  /** Somebody looks, until the function that is returned is called; the last reading is what is seen at first. */
  watch(watcher: Watcher): () => void {
    this.#watchers.add(watcher)
    if (this.#latest && performance.now() - this.#latestAt <= 2 * unwatchedMs) tell(watcher, this.#latest)
    if (this.#watchers.size === 1) this.#schedule(0)
    return () => this.#watchers.delete(watcher)
  }

  /**
   * A reading that is at most so old, or as old as it took to read: else those who ask, and not the clock, would say how often many thousands of
   * tasks are read. Simultaneous requests share one.
   * @throws HubError
   */
  async latest(maxAgeMs: number = watchedMs): Promise<Reading> {
    if (this.#latest && performance.now() - this.#latestAt <= Math.max(maxAgeMs, this.#latest.tookMs))
      return this.#latest
    return this.#read()
  }

  #read(): Promise<Reading> {
    this.#underWay ??= this.#readNow().finally(() => {
      this.#underWay = undefined
    })
    return this.#underWay
  }

  async #readNow(): Promise<Reading> {
    const startedAt = performance.now()
    const overview = await this.#hub.overview()
    this.#latestAt = performance.now()
    this.totals.add(overview)
    this.#latest = { overview, tookMs: Math.round(this.#latestAt - startedAt) }
    return this.#latest
  }

  #schedule(ms: number): void {
    clearTimeout(this.#timer)
    if (this.#isClosed) return
    this.#timer = setTimeout(() => void this.#round(), ms)
    this.#timer.unref()
  }

  async #round(): Promise<void> {
    // Somebody came while one was under way, which tells all.
    if (this.#isInRound) return
    this.#isInRound = true
    const reading = await this.#read().catch((error: unknown) => error as Error)
    for (const watcher of [this.#recorder, ...this.#watchers]) tell(watcher, reading)
    this.#isInRound = false
    // Where there is so much that a reading takes long, the rest of the service has as much time as they.
    const tookMs = reading instanceof Error ? 0 : reading.tookMs
    this.#schedule(Math.max(tookMs, this.#watchers.size > 0 ? watchedMs : unwatchedMs))
  }
}

const unread = 'The registry could not be read.'

/** One that cannot be told, because of what somebody wrote into the registry, does not keep the others from it. */
const tell = (watcher: Watcher, reading: Reading | Error): void => {
  if (reading instanceof Error) {
    watcher.onProblem(reading instanceof HubError ? reading.message : unread)
    return
  }
  try {
    watcher.onReading(reading)
  } catch {
    watcher.onProblem(unread)
  }
}

import { formats, type Line, type Metric, type Tags } from '../metrics.ts'
import { openStatsd, type StatsdClient } from './hot-shots.ts'
import type { Outlet } from './outlet.ts'

export interface StatsdOptions {
  /** host:port, udp://host:port, tcp://host:port or unix:///path */
  statsd: string
  statsdPrefix: string
  statsdFormat: keyof typeof formats
  /** Part of the timings that is sent, above 0 up to 1. */
  statsdSampleRate: number
  statsdFlushMs: number
  /** Name of the hub or worker. */
  name: string
}

/** Timings of one metric and its tags that are sent per flush, at most; of more it is a random part. */
const maxTimings = 100
/** Fits into a datagram on every network. */
const maxDatagram = 1400

/**
 * A metric with the first of its tags; `by` the value of the next one there are more. So no key is put together for each call.
 */
class Series {
  readonly by = new Map<string | undefined, Series>()
  line: Line | undefined
  count = 0
  timings: number[] = []
  /** Timings that passed the sample rate. */
  sampled = 0
}

/**
 * Counts and times until the next flush, when everything is handed to hot-shots, which packs it into datagrams. A count
 * costs an addition and a timing one more place in a short list, 0.1 us each; hot-shots takes 3 us for a metric, and four
 * or five of those per call would be felt. For the same reason it does not sample itself: lines carry the rate at which
 * they were sampled here, and the daemon multiplies.
 */
export class Meter {
  readonly #options: StatsdOptions
  readonly #client: StatsdClient
  readonly #series = new Map<Metric, Series>()
  readonly #timer: NodeJS.Timeout

  constructor(outlet: Outlet, options: StatsdOptions) {
    this.#options = options
    this.#client = openStatsd({
      protocol: 'stream',
      stream: outlet,
      maxBufferSize: maxDatagram,
      bufferFlushInterval: options.statsdFlushMs,
      closingFlushInterval: 1,
      // Of Datadog's own variables none shall change what is sent from here.
      includeDataDogTags: false,
      datadog: false,
      errorHandler: () => undefined,
    })
    this.#timer = setInterval(() => this.flush(), options.statsdFlushMs).unref()
  }

  count(metric: Metric, tags: Tags, by = 1): void {
    this.#seriesOf(metric, tags).count += by
  }

  timing(metric: Metric, tags: Tags, ms: number): void {
    const { statsdSampleRate: sampleRate } = this.#options
    const series = this.#seriesOf(metric, tags)
    series.count++
    if (sampleRate < 1 && Math.random() >= sampleRate) return
    const place = series.sampled < maxTimings ? series.sampled : Math.floor(Math.random() * (series.sampled + 1))
    series.sampled++
    if (place < maxTimings) series.timings[place] = ms
  }

  /** Gauges go at once: there are a few per second, and each replaces the one before. */
  gauge(metric: Metric, tags: Tags, value: number): void {
    const { head, tail } = this.#lineOf(metric, tags)
    this.#send(`${head}${rounded(value)}|g${tail}`)
  }

  flush(): void {
    for (const [metric, series] of this.#series) this.#flushSeries(metric, series)
    this.#client.flush()
  }

  /** False when there was nothing: names of long ago must not pile up. */
  #flushSeries(metric: Metric, series: Series): boolean {
    for (const [value, each] of series.by) if (!this.#flushSeries(metric, each)) series.by.delete(value)
    const { count, timings } = series
    if (count === 0) return series.by.size > 0
    // With none of them sampled the count is kept for the next flush: the daemon's sum stays true.
    if (metric.type === 'timing' && timings.length === 0) return true
    const { head, tail } = series.line!
    if (metric.type === 'counter') this.#send(`${head}${count}|c${tail}`)
    const rate = timings.length < count ? `|@${(timings.length / count).toFixed(7)}` : ''
    for (const ms of timings) this.#send(`${head}${rounded(ms)}|ms${rate}${tail}`)
    series.count = series.sampled = 0
    series.timings = []
    return true
  }

  /** Sends what there is. Resolves when it is on its way. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    this.flush()
    await new Promise<void>(resolve => this.#client.close(() => resolve()))
  }

  #send(line: string): void {
    this.#client.send(line)
  }

  #seriesOf(metric: Metric, tags: Tags): Series {
    let series = seriesIn(this.#series, metric)
    for (const key of metric.tags) series = seriesIn(series.by, tags[key])
    series.line ??= this.#lineOf(metric, tags)
    return series
  }

  #lineOf(metric: Metric, tags: Tags): Line {
    const { statsdPrefix, statsdFormat, name } = this.#options
    return formats[statsdFormat](statsdPrefix, metric, tags, name)
  }
}

const seriesIn = <K>(all: Map<K, Series>, key: K): Series => {
  let series = all.get(key)
  if (!series) all.set(key, (series = new Series()))
  return series
}

/** Microseconds are all that there is to tell. */
const rounded = (value: number): number => Math.round(value * 1000) / 1000

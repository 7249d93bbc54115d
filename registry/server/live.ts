import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { constants, createGzip, type Gzip } from 'node:zlib'
import type { Delta, LiveProblem, LiveReading, Topic } from '../contract.ts'
import type { Trends } from './history.ts'
import type { Reading, Watcher } from './readings.ts'
import { type KeyedRow, queueRows, summaryOf, taskRows, workerRows } from './rows.ts'

/** A page that has so many characters to read yet is sent nothing more until it has; and after so long its stream ends. */
const maxBuffered = 1_000_000
const maxStuckMs = 30_000
/** What was sent last is waited for so long at the end. */
const longestEndMs = 1000
/** Proxies close connections that are silent. */
const pingMs = 15_000

/** Rows of one reading, made once whatever the number of streams. */
const rowsOf = (() => {
  const cache = new WeakMap<Reading, ReturnType<typeof make>>()
  const make = ({ overview }: Reading, trends: Trends) => ({
    summary: summaryOf(overview),
    tasks: taskRows(overview, trends),
    workers: workerRows(overview),
    queues: queueRows(overview, trends),
  })
  return (reading: Reading, trends: Trends) => {
    let rows = cache.get(reading)
    if (!rows) cache.set(reading, (rows = make(reading, trends)))
    return rows
  }
})()

/** What one topic of one stream was last told. */
class Told<Row> {
  readonly #json = new Map<string, string>()
  #isFirst = true

  delta(rows: KeyedRow<Row>[]): Delta<Row> {
    const there = new Set(rows.map(({ key }) => key))
    const gone = [...this.#json.keys()].filter(key => !there.has(key))
    for (const key of gone) this.#json.delete(key)
    const changed = rows.filter(({ key, json }) => this.#json.get(key) !== json)
    for (const { key, json } of changed) this.#json.set(key, json)
    const delta = { full: this.#isFirst, rows: changed.map(({ row }) => row), gone }
    this.#isFirst = false
    return delta
  }
}

/** One page's stream of server-sent events (WHATWG HTML, section 9.2): what changed with each reading. */
export class LiveStream implements Watcher {
  readonly #response: ServerResponse
  /** The first message tells all rows, megabytes of thousands of tasks, a tenth of it compressed. */
  readonly #gzip: Gzip | undefined
  readonly #topics: readonly Topic[]
  readonly #trends: Trends
  readonly #notice: () => string | undefined
  readonly #told = { tasks: new Told(), workers: new Told(), queues: new Told() }
  readonly #ping: NodeJS.Timeout
  #stuckSince: number | undefined

  /** @param isCompressed the response has said so */
  constructor(
    response: ServerResponse,
    { topics, trends, notice }: { topics: readonly Topic[]; trends: Trends; notice: () => string | undefined },
    isCompressed: boolean,
  ) {
    this.#response = response
    this.#notice = notice
    if (isCompressed) {
      this.#gzip = createGzip({ level: constants.Z_BEST_SPEED })
      this.#gzip.pipe(response)
    }
    this.#topics = topics
    this.#trends = trends
    this.#ping = setInterval(() => this.#write(':\n\n'), pingMs)
    this.#ping.unref()
    response.on('close', () => {
      clearInterval(this.#ping)
      this.#gzip?.destroy()
    })
  }

  onReading(reading: Reading): void {
    // What it misses now is in the next delta it gets, because only what was sent counts as told.
    if (this.#isStuck()) return
    const rows = rowsOf(reading, this.#trends)
    const message: LiveReading = { atMs: reading.overview.atMs, tookMs: reading.tookMs }
    const notice = this.#notice()
    if (notice !== undefined) message.notice = notice
    for (const topic of this.#topics) {
      if (topic === 'summary') message.summary = rows.summary
      else message[topic] = this.#told[topic].delta(rows[topic] as KeyedRow<unknown>[]) as never
    }
    this.#send('reading', message)
  }

  onProblem(message: string): void {
    if (!this.#isStuck()) this.#send('problem', { message })
  }

  /** Resolves when all of it was sent, or nobody reads it. */
  async end(): Promise<void> {
    clearInterval(this.#ping)
    if (this.#response.destroyed) return
    const closed = once(this.#response, 'close', { signal: AbortSignal.timeout(longestEndMs) }).catch(() => undefined)
    if (this.#gzip) this.#gzip.end()
    else this.#response.end()
    await closed
  }

  #isStuck(): boolean {
    if (this.#response.writableLength + (this.#gzip?.writableLength ?? 0) <= maxBuffered) {
      this.#stuckSince = undefined
      return false
    }
    this.#stuckSince ??= performance.now()
    if (performance.now() - this.#stuckSince > maxStuckMs) this.#response.destroy()
    return true
  }

  #send(event: string, data: LiveReading | LiveProblem): void {
    this.#write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
  }

  #write(text: string): void {
    if (this.#response.writableEnded || this.#response.destroyed) return
    if (!this.#gzip) return void this.#response.write(text)
    if (this.#gzip.writableEnded) return
    this.#gzip.write(text)
    // Else a message waits for the ones behind it.
    this.#gzip.flush(constants.Z_SYNC_FLUSH)
  }
}

import { type Overview, readOverview } from '../catalogue/overview.ts'
import { Connection } from '../redis/connection.ts'
import { explained } from '../redis/refusals.ts'
import type { Settings } from '../settings/read.ts'
import { monotonicMs, sleep } from '../wire/clock.ts'
import { type Keys, makeKeys } from '../wire/keys.ts'

const everyMs = 1000
const stallMs = 1800

/** Reads the overview every second, on a connection that heals itself; what was read last stays while Redis is away. */
export class OverviewWatch {
  readonly #keys: Keys
  readonly #connection: Connection
  readonly #onChange: () => void
  readonly #stopping = new AbortController()
  #overview: Overview | undefined
  #readAt = 0
  #away: string | undefined
  #loop: Promise<void> | undefined

  /** `onChange` is called after each reading, and when Redis goes away. */
  constructor({ redis: target, namespace }: Readonly<Settings>, onChange: () => void) {
    this.#keys = makeKeys(namespace)
    this.#onChange = onChange
    this.#connection = new Connection({
      target,
      name: 'pshub-cli',
      stallMs,
      onDown: reason => this.#fail(reason),
    })
  }

  get overview(): Overview | undefined {
    return this.#overview
  }

  /** Milliseconds since the overview was read. */
  get ageMs(): number {
    return monotonicMs() - this.#readAt
  }

  /** Why it cannot be read at the moment; undefined while it can. */
  get awayBecause(): string | undefined {
    return this.#away
  }

  start(): void {
    this.#connection.open()
    this.#loop ??= this.#run()
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#connection.close()
    await this.#loop
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      await this.#connection.whenReady(signal)
      if (signal.aborted) return
      await this.#read().catch(error => this.#fail(error))
      await sleep(everyMs, signal)
    }
  }

  async #read(): Promise<void> {
    const overview = await this.#connection.send(client => readOverview(client, this.#keys))
    this.#overview = overview
    this.#readAt = monotonicMs()
    this.#away = undefined
    this.#onChange()
  }

  #fail(error: Error): void {
    if (this.#stopping.signal.aborted) return
    this.#away = explained(error.message)
    this.#onChange()
  }
}

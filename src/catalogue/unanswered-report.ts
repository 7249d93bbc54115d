import { hostname } from 'node:os'
import { Unanswered } from '../figures/unanswered.ts'
import { command, nowMsOf } from '../redis/client.ts'
import type { Connection, Redis } from '../redis/connection.ts'
import { isAboutRights } from '../redis/refusals.ts'
import { monotonicMs, signalAfter } from '../wire/clock.ts'
import { type HubError, messageOf } from '../wire/errors.ts'
import type { Keys } from '../wire/keys.ts'
import { clearTimeout, setTimeout } from '../wire/timers.ts'

export interface UnansweredReportOptions {
  hubId: string
  /** The service. */
  name: string | undefined
  keys: Keys
  commands: Connection
}

const everyMs = 1000
/** A record is kept for so long after it was written last, and so many hubs are listed. */
export const unansweredMemoryMs = 3_600_000
export const maxTellingHubs = 1000
const farewellMs = 1000

/**
 * Tells the registry which calls this hub refused, or gave up without a word of a worker: no worker can know. Nothing is sent
 * while there are none, and at most once a second while there are.
 */
export class UnansweredReport {
  readonly #options: UnansweredReportOptions
  readonly #unanswered = new Unanswered()
  #timer: NodeJS.Timeout | undefined
  #isRefused = false
  #isClosed = false

  constructor(options: UnansweredReportOptions) {
    this.#options = options
  }

  note(task: string, queue: string | undefined, error: HubError): void {
    if (this.#isRefused || this.#isClosed || typeof task !== 'string') return
    this.#unanswered.count(task, queue, error, monotonicMs())
    if (!this.#timer && this.#unanswered.hasRecent()) this.#schedule(everyMs / 10)
  }

  /** Tells what is not told yet, where Redis is there. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    const { commands } = this.#options
    if (this.#isRefused || !commands.isReady || !this.#unanswered.isChanged(monotonicMs())) return
    const patience = signalAfter(farewellMs)
    await Promise.race([
      this.#write(),
      new Promise(resolve => patience.addEventListener('abort', resolve, { once: true })),
    ])
  }

  #schedule(ms: number): void {
    this.#timer = setTimeout(() => void this.#round(), ms)
    this.#timer.unref()
  }

  async #round(): Promise<void> {
    const { commands } = this.#options
    if (commands.isReady && this.#unanswered.isChanged(monotonicMs())) await this.#write()
    this.#timer = undefined
    // It goes on for a minute, until the last one has left the window.
    if (!this.#isClosed && !this.#isRefused && this.#unanswered.hasRecent()) this.#schedule(everyMs)
  }

  async #write(): Promise<void> {
    try {
      await this.#options.commands.send(client => this.#send(client))
    } catch (error) {
      // A user whose rights are of an earlier version: this hub goes on as earlier ones did.
      this.#isRefused = isAboutRights(messageOf(error))
      this.#unanswered.again()
    }
  }

  async #send(client: Redis): Promise<void> {
    const { hubId, name = '', keys } = this.#options
    const key = keys.refused(hubId)
    const nowMs = await nowMsOf(client, key)
    const text = this.#unanswered.text(monotonicMs(), nowMs, { name, host: hostname(), pid: process.pid })
    await Promise.all([
      command(client, 'set', key, text, 'PX', unansweredMemoryMs),
      command(client, 'zadd', keys.refusing, nowMs, hubId),
      command(client, 'zremrangebyscore', keys.refusing, '-inf', nowMs - unansweredMemoryMs),
      command(client, 'zremrangebyrank', keys.refusing, 0, -maxTellingHubs - 1),
      command(client, 'pexpire', keys.refusing, unansweredMemoryMs),
    ])
  }
}

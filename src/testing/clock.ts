import { clocksAheadMs, monotonicMs, moveClocks, tieDate, wallMs } from '../wire/clock.ts'
import { ConfigError } from '../wire/errors.ts'
import { useTimers } from '../wire/timers.ts'
import type { MemoryRedis } from './redis/server.ts'
import type { Runs } from './runs.ts'
import { TravelTimers } from './travel.ts'

const timers = new TravelTimers()
let users = 0

/** Further than this the clock goes in strides: what looks around each second need not do so 86,400 times a day. */
const exactMs = 60_000
/** So many on the way. While a handler runs none is so long that its worker's lease could end; who holds nothing just renews it. */
const strides = 300
const safeStrideMs = 240_000
/** So many turns of the event loop without a command, and nothing is going on. */
const quietTurns = 8
const mostTurns = 100_000
/** What is to happen this soon belongs to what is going on. */
const soonMs = 10

const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))
const realSleep = (ms: number): Promise<void> => new Promise(resolve => globalThis.setTimeout(resolve, ms))

/**
 * The clock of pshub in this process and of its Redis in memory. It runs by itself, so that nothing hangs; a test can
 * advance it, and everything due on the way happens in order: schedules, retries, deadlines, expiring leases and keys.
 * Timers of handlers are not affected.
 */
export class TestClock {
  readonly #redis: MemoryRedis
  readonly #runs: Runs
  #isClosed = false

  constructor(redis: MemoryRedis, runs: Runs) {
    this.#redis = redis
    this.#runs = runs
    if (users++ > 0) return
    useTimers(timers)
    tieDate(true)
  }

  /** Milliseconds since 1970 on the clock of the test. */
  get nowMs(): number {
    return Math.floor(wallMs())
  }

  /**
   * Advances the clock. Resolves when everything due by then has happened. A running handler gets a tenth of a second
   * of real time to end before the clock passes it.
   *
   * @throws ConfigError for a negative or invalid time
   */
  async advance(ms: number): Promise<void> {
    if (!(Number.isFinite(ms) && ms >= 0))
      throw new ConfigError(`clock.advance() takes milliseconds from 0, not ${ms}.`)
    const end = monotonicMs() + ms
    const longest = ms <= exactMs ? 0 : ms / strides
    await this.quiet()
    while (monotonicMs() < end && !this.#isClosed) {
      const now = monotonicMs()
      const stride = this.#runs.running > 0 ? Math.min(safeStrideMs, longest) : longest
      const next = Math.max(timers.nextAt ?? end, now + stride)
      timers.moveTo(Math.max(now, Math.min(next, this.#nextDue(now), end)))
      await this.quiet()
    }
  }

  /** Advances the clock to a time: a Date or milliseconds since 1970. @throws ConfigError if it has passed */
  async advanceTo(time: Date | number): Promise<void> {
    await this.advance(Number(time) - wallMs())
  }

  /**
   * Resolves when nothing is going on: no command, and, but without patience, no handler that has just begun. Moves the clock by some
   * milliseconds at most.
   */
  async quiet({ isPatient = true } = {}): Promise<void> {
    let [idle, commands, moves] = [0, -1, 0]
    for (let turns = 0; idle < quietTurns && turns < mostTurns && !this.#isClosed; turns++) {
      await turn()
      const { activity } = this.#redis
      idle = activity.isBusy || activity.commands !== commands ? 0 : idle + 1
      commands = activity.commands
      if (idle < quietTurns) continue
      const next = timers.nextAt
      if (isPatient && this.#runs.mayEnd) {
        await realSleep(1)
        idle = 0
      } else if (next !== undefined && next < monotonicMs() + soonMs && moves++ < quietTurns) {
        timers.moveTo(Math.max(next, monotonicMs()))
        idle = 0
      }
    }
  }

  /** Moves on by what is to happen next, but by so much at most. Returns by how much. */
  async step(mostMs: number): Promise<number> {
    const now = monotonicMs()
    const to = Math.max(now, Math.min(timers.nextAt ?? now + mostMs, now + mostMs))
    timers.moveTo(to)
    await this.quiet()
    return to - now
  }

  /** When the last one is closed, time is again what it is. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    if (--users > 0) return
    useTimers()
    tieDate(false)
    moveClocks(-clocksAheadMs())
  }

  /** When the next job or schedule is due after now, monotonic milliseconds. Redis counts whole milliseconds. */
  #nextDue(now: number): number {
    return now + this.#redis.nextDueMs - wallMs() + 1
  }
}

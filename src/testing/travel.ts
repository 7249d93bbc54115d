import { monotonicMs, moveClocks } from '../wire/clock.ts'
import type { Timers } from '../wire/timers.ts'

/** A timer that fires when its time has come, by real time or because the clock was moved on. */
class Wait {
  readonly due: number
  readonly run: () => void
  readonly order: number
  real: NodeJS.Timeout | undefined
  #isRef = true

  constructor(run: () => void, due: number, order: number) {
    this.run = run
    this.due = due
    this.order = order
  }

  arm(fire: () => void): void {
    clearTimeout(this.real)
    this.real = setTimeout(fire, Math.max(0, this.due - monotonicMs()))
    if (!this.#isRef) this.real.unref()
  }

  unref(): this {
    this.#isRef = false
    this.real?.unref()
    return this
  }

  ref(): this {
    this.#isRef = true
    this.real?.ref()
    return this
  }

  [Symbol.toPrimitive](): number {
    return this.order
  }
}

/** All that waits in this process, so that it can be moved on together. Time goes on by itself, too. */
export class TravelTimers implements Timers {
  readonly #waits = new Set<Wait>()
  #lastOrder = 0

  set(run: () => void, ms: number): NodeJS.Timeout {
    const wait = new Wait(run, monotonicMs() + Math.max(1, ms), ++this.#lastOrder)
    this.#waits.add(wait)
    wait.arm(() => this.#fire(wait))
    return wait as unknown as NodeJS.Timeout
  }

  clear(timer: NodeJS.Timeout | undefined): void {
    const real = timer instanceof Wait ? timer.real : timer
    clearTimeout(real)
    if (timer instanceof Wait) this.#waits.delete(timer)
  }

  /** When the next one fires, monotonic milliseconds. */
  get nextAt(): number | undefined {
    const [first] = this.#inOrder()
    return first?.due
  }

  /** Moves the clocks to that time, and fires what is due by then, in its order. */
  moveTo(atMs: number): void {
    moveClocks(Math.max(0, atMs - monotonicMs()))
    for (const wait of this.#inOrder()) {
      if (wait.due > atMs) break
      if (this.#waits.has(wait)) this.#fire(wait)
    }
    // The others come sooner than was thought.
    for (const wait of this.#waits) wait.arm(() => this.#fire(wait))
  }

  #inOrder(): Wait[] {
    return [...this.#waits].sort((a, b) => a.due - b.due || a.order - b.order)
  }

  #fire(wait: Wait): void {
    clearTimeout(wait.real)
    if (this.#waits.delete(wait)) wait.run()
  }
}

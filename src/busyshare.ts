const memoryMs = 60_000

/** What share of its slots' time a worker used in the last minute, from looks at how much it used since its start. */
export class BusyShare {
  readonly #slots: number
  readonly #looks: { at: number; usedMs: number }[]

  constructor(slots: number, now: number) {
    this.#slots = slots
    this.#looks = [{ at: now, usedMs: 0 }]
  }

  /** 0 to 1. `usedMs` is the slots' time used up to `now`, all slots together. */
  look(usedMs: number, now: number): number {
    this.#looks.push({ at: now, usedMs })
    while (this.#looks.length > 2 && now - this.#looks[1]!.at >= memoryMs) this.#looks.shift()
    const first = this.#looks[0]!
    const allMs = (now - first.at) * this.#slots
    return allMs <= 0 ? 0 : Math.min(1, Math.max(0, (usedMs - first.usedMs) / allMs))
  }
}

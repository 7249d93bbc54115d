/** So many things that are to be done in other queues are held before no more jobs are taken, whose ends ask for more of them. */
const mostOuts = 1000

/** The slots of a worker, for all queues that it serves. */
export class SlotPool {
  readonly size: number
  readonly #jobSlots: number
  /** Requests that the worker holds, running or not. */
  held = 0
  /** What is held beside these, to be done in other queues: as long as one of them cannot be written, all others are served. */
  outs = 0
  #busy = 0
  #busyJobs = 0

  /** `jobSlots`: the most that run jobs at once. */
  constructor(size: number, jobSlots: number) {
    this.size = size
    this.#jobSlots = jobSlots
  }

  /**
   * How many requests may be claimed: one for each idle slot, unless three times as many as there are slots are held. That is
   * what a busy worker comes to: what runs, what is answered, and what is on its way to be released. Beyond that Redis refuses
   * releases, or does not answer, and what this worker holds must not grow without an end.
   */
  get idle(): number {
    return Math.min(this.size - this.#busy, 3 * this.size - this.held)
  }

  /** How many more jobs may run, as far as slots are idle. */
  get jobRoom(): number {
    return this.outs >= mostOuts ? 0 : Math.max(0, Math.min(this.#jobSlots - this.#busyJobs, this.idle))
  }

  /** Whether this worker takes jobs at all. */
  get takesJobs(): boolean {
    return this.#jobSlots > 0
  }

  get busy(): number {
    return this.#busy
  }

  /** So many more are busy, with so many jobs among them; fewer, when they are below 0. */
  take(slots: number, jobs: number): void {
    this.#busy += slots
    this.#busyJobs += jobs
  }
}

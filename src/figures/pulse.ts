/** Where each number is in the memory that worker/roles/keepalive-thread.mjs reads; it is given this table. */
export const places = {
  /** Counts the ticks of the loop: one that is blocked counts no more. */
  ticks: 0,
  /** Counts the beats of the main thread that kept the lease. */
  beats: 1,
  /** 1 + the number of the task whose handler is on the stack; 0: none. */
  entered: 2,
  /** Written by the thread: the tick at which it saw the loop blocked. */
  seenAt: 3,
  /** From here on, how many requests of each task run. */
  running: 4,
} as const

/**
 * What the event loop of this process does, in memory that a thread can read while the loop is blocked. A call costs it
 * a few stores of a number and nothing else.
 */
export class Pulse {
  readonly tasks: readonly string[]
  readonly memory: SharedArrayBuffer
  readonly #numbers: Int32Array
  /** Behind the running ones: the tick at which the thread found this task guilty of a stall. */
  readonly #blamed: number
  /** By how much a request of each task counts as running here. */
  readonly #counted: Uint8Array

  /** `elsewhere`: those of the tasks whose handlers run in other threads, and block no loop but their own. */
  constructor(tasks: readonly string[], elsewhere: ReadonlySet<string> = new Set()) {
    this.tasks = tasks
    this.#counted = Uint8Array.from(tasks, task => (elsewhere.has(task) ? 0 : 1))
    this.#blamed = places.running + tasks.length
    this.memory = new SharedArrayBuffer((this.#blamed + tasks.length) * Int32Array.BYTES_PER_ELEMENT)
    this.#numbers = new Int32Array(this.memory)
    this.#numbers[places.ticks] = 1
  }

  /** The loop goes on. Returns the tasks to blame, if the thread saw it blocked since the tick before. */
  tick(): string[] | undefined {
    const tick = Atomics.add(this.#numbers, places.ticks, 1)
    if (Atomics.load(this.#numbers, places.seenAt) !== tick) return undefined
    return this.tasks.filter((_, task) => this.#numbers[this.#blamed + task] === tick)
  }

  /** The main thread renewed the lease itself. */
  beat(): void {
    this.#numbers[places.beats]!++
  }

  begin(task: number): void {
    this.#numbers[places.running + task]! += this.#counted[task]!
  }

  end(task: number): void {
    this.#numbers[places.running + task]! -= this.#counted[task]!
  }

  /** From here to leave() it is this task alone that can block the loop. */
  enter(task: number): void {
    this.#numbers[places.entered] = task + 1
  }

  leave(): void {
    this.#numbers[places.entered] = 0
  }
}

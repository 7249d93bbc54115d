import { Refusal } from './refusal.ts'

/** Who waits for a turn, at the most. */
const longestLine = 100

/** Lets so many of some work be done at a time, in the order of their coming: what reads much of Redis is not to fill it, whoever asks. */
export class Turns {
  readonly #line: (() => void)[] = []
  #free: number

  constructor(atOnce: number) {
    this.#free = atOnce
  }

  /** @throws Refusal when too many wait already; what the work throws */
  async take<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--
    else if (this.#line.length >= longestLine)
      throw new Refusal(503, 'Unavailable', 'Too many searches are waiting; try again soon.', { 'retry-after': '5' })
    else await new Promise<void>(resolve => this.#line.push(resolve))
    try {
      return await work()
    } finally {
      const next = this.#line.shift()
      if (next) next()
      else this.#free++
    }
  }
}

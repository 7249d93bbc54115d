import { sortedInPieces } from './in-pieces.ts'

/** Rows that are kept of all; and so many of each task, though others have more that come before them. */
const most = 10_000
const mostOfTask = 20
/** Of so many rows that are only kept for their task. */
const mostForTasks = 10_000

/**
 * The first rows of very many, in an order, of which no more are ever held than some tens of thousands: the first 10,000, and the first 20 of each
 * task, so that a task with few is not lost behind others.
 */
export class FirstRows<T extends { task: string }> {
  readonly #order: (a: T, b: T) => number
  #rows: T[] = []

  constructor(order: (a: T, b: T) => number) {
    this.#order = order
  }

  async add(rows: readonly T[]): Promise<void> {
    for (const row of rows) this.#rows.push(row)
    if (this.#rows.length > 2 * (most + mostForTasks)) await this.inOrder()
  }

  /** All that are kept so far. */
  async inOrder(): Promise<T[]> {
    const sorted = await sortedInPieces(this.#rows, this.#order)
    const ofTask = new Map<string, number>()
    let forTasks = 0
    this.#rows = sorted.filter((row, at) => {
      const own = ofTask.get(row.task) ?? 0
      ofTask.set(row.task, own + 1)
      if (at < most) return true
      if (own >= mostOfTask || forTasks >= mostForTasks) return false
      forTasks++
      return true
    })
    return this.#rows
  }
}

/** So many services that call a task are counted by name. */
export const maxCallers = 20
/** All others together. A service that calls itself so is counted among them, so that nobody can have this name. */
export const otherCallers = '*'

/** Calls by the service that made them; `''` are those whose requests name none. */
export type CallersJson = Record<string, number>

/** Calls of one slice of time, by service. */
export interface CallerSlice {
  readonly callers: Map<string, { calls: number }>
  /** A service found no place here; until the slice ends none will. */
  isFull: boolean
}

/**
 * Who calls one task. Where there are as many services as have places, one that no slice of the window knows makes room for a
 * new one: its calls are among the others from then on.
 */
export class Callers {
  /** Calls of slices that have left the window, by service; who is in here has a place. */
  readonly #past = new Map<string, number>()

  /** One call more, in the last of these slices, which are those of the window. */
  count(name: string, slices: readonly CallerSlice[]): void {
    const slice = slices.at(-1)!
    let counter = slice.callers.get(name)
    if (!counter) {
      const own = this.#hasPlace(name, slice, slices) ? name : otherCallers
      counter = slice.callers.get(own) ?? { calls: 0 }
      slice.callers.set(own, counter)
    }
    counter.calls++
  }

  /** A slice leaves the window. */
  retire({ callers }: CallerSlice): void {
    for (const [name, { calls }] of callers) this.#addPast(name, calls)
  }

  /** All there ever were; `slices` are those of the window. */
  totals(slices: readonly CallerSlice[]): CallersJson {
    return callersOf(slices, this.#past)
  }

  #hasPlace(name: string, slice: CallerSlice, slices: readonly CallerSlice[]): boolean {
    if (this.#past.has(name)) return true
    if (name === otherCallers || slice.isFull) return false
    const named = [...this.#past.keys()].filter(each => each !== otherCallers)
    if (named.length >= maxCallers) {
      const quiet = named.find(each => slices.every(({ callers }) => !callers.has(each)))
      slice.isFull = quiet === undefined
      if (quiet === undefined) return false
      this.#addPast(otherCallers, this.#past.get(quiet)!)
      this.#past.delete(quiet)
    }
    this.#past.set(name, 0)
    return true
  }

  #addPast(name: string, calls: number): void {
    this.#past.set(name, (this.#past.get(name) ?? 0) + calls)
  }
}

/** What these slices counted, together, and before them. */
export const callersOf = (slices: readonly CallerSlice[], before: Iterable<[string, number]> = []): CallersJson => {
  const sums = new Map(before)
  for (const { callers } of slices)
    for (const [name, { calls }] of callers) sums.set(name, (sums.get(name) ?? 0) + calls)
  return Object.fromEntries([...sums].filter(([, calls]) => calls > 0))
}

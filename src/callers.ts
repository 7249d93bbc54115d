/** So many services that call a task are counted by name. */
export const maxCallers = 20
/** All others together. A service that calls itself so is counted among them, so that nobody can have this name. */
export const otherCallers = '*'

/** Calls by the service that made them; `''` are those whose requests name none. */
export type CallersJson = Record<string, number>

/** Calls of one slice of time, by the place of the service. */
export interface CallerSlice {
  number: number
  readonly callers: Uint32Array
}

export const makeCallerCounts = (): Uint32Array => new Uint32Array(maxCallers + 1)

/**
 * Who calls one task. Each service has a place, under which slices count it; place 0 is that of all others. Where all are
 * taken, a service that no slice of the window knows makes room for a new one: its calls are among the others from then on.
 */
export class Callers {
  readonly #places = new Map<string, number>()
  /** By place. */
  readonly #names: string[] = [otherCallers]
  readonly #totals = new Float64Array(maxCallers + 1)
  /** The slice in which no place was found; until it ends none will be. */
  #fullIn = -1

  /** One call more, in its slice; `slices` are those that there are, of which `oldest` is the first that still counts. */
  count(name: string, slice: CallerSlice, slices: readonly (CallerSlice | undefined)[], oldest: number): void {
    const place = this.#places.get(name) ?? this.#placeFor(name, slice.number, slices, oldest)
    slice.callers[place]!++
    this.#totals[place]!++
  }

  totals(): CallersJson {
    return this.#byName(this.#totals)
  }

  /** What these slices counted, together. */
  of(slices: readonly CallerSlice[]): CallersJson {
    const sums = new Float64Array(maxCallers + 1)
    for (const { callers } of slices) for (const [place, count] of callers.entries()) sums[place]! += count
    return this.#byName(sums)
  }

  #byName(counts: Float64Array): CallersJson {
    const entries = this.#names.map((name, place): [string, number] => [name, counts[place]!])
    return Object.fromEntries(entries.filter(([, count]) => count > 0))
  }

  #placeFor(name: string, number: number, slices: readonly (CallerSlice | undefined)[], oldest: number): number {
    if (name === otherCallers || this.#fullIn === number) return 0
    if (this.#names.length <= maxCallers) return this.#give(this.#names.length, name)
    const isQuiet = (place: number) =>
      slices.every(slice => slice === undefined || slice.number < oldest || slice.callers[place] === 0)
    for (let place = 1; place <= maxCallers; place++) if (isQuiet(place)) return this.#give(place, name)
    this.#fullIn = number
    return 0
  }

  #give(place: number, name: string): number {
    const before = this.#names[place]
    if (before !== undefined) this.#places.delete(before)
    this.#totals[0]! += this.#totals[place]!
    this.#totals[place] = 0
    this.#names[place] = name
    this.#places.set(name, place)
    return place
  }
}

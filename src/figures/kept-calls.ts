import { isMicros } from '../wire/foreign.ts'
import { isId } from '../wire/keys.ts'

/** One call that a worker keeps, as a record of its own. */
export interface KeptCall {
  id: string
  /** Redis' microseconds when it ended. */
  at: number
  /** The calling service, as it named itself. */
  from?: string
}

/** So many per task, of so many tasks. */
export const maxKeptCalls = 10
export const maxKeptTasks = 50

interface Kept<T> {
  call: T
  /** Monotonic milliseconds. */
  endedAt: number
}

/** Calls of the tasks of one worker that are kept for some time: the last ones, newest first, unless an heir says otherwise. */
export class KeptCalls<T extends KeptCall> {
  /** The task whose call was kept last is the last one. */
  protected readonly byTask = new Map<string, Kept<T>[]>()
  readonly #memoryMs: number
  readonly #maxLength: number
  #isChanged = false

  /** Tasks that had none for long are left out where `maxLength` characters are full. */
  constructor(memoryMs: number, maxLength = Number.POSITIVE_INFINITY) {
    this.#memoryMs = memoryMs
    this.#maxLength = maxLength
  }

  /** As of `sort`; of equals the newest is the first. */
  protected order(_a: T, _b: T): number {
    return 0
  }

  /** The task that makes room for another one: the one that had none for longest. */
  protected leastTask(): string {
    return this.byTask.keys().next().value!
  }

  protected noteChange(): void {
    this.#isChanged = true
  }

  /** True when what would be published differs from the last text. */
  isChanged(now: number): boolean {
    this.#forget(now)
    return this.#isChanged
  }

  /** `now` is when it ended; another call may have to go. */
  keep(task: string, call: T, now: number): void {
    const kept = this.byTask.get(task) ?? []
    this.byTask.delete(task)
    if (this.byTask.size >= maxKeptTasks) this.byTask.delete(this.leastTask())
    this.byTask.set(task, kept)
    kept.unshift({ call, endedAt: now })
    kept.sort((a, b) => this.order(a.call, b.call))
    kept.length = Math.min(kept.length, maxKeptCalls)
    this.noteChange()
  }

  text(now: number): string {
    this.#forget(now)
    this.#isChanged = false
    const texts: string[] = []
    let length = 2
    for (const [task, kept] of [...this.byTask].reverse()) {
      const text = `${JSON.stringify(task)}:${JSON.stringify(kept.map(({ call }) => call))}`
      length += text.length + 1
      if (length > this.#maxLength) break
      texts.push(text)
    }
    return `{${texts.join(',')}}`
  }

  #forget(now: number): void {
    for (const [task, kept] of this.byTask) {
      const recent = kept.filter(({ endedAt }) => now - endedAt < this.#memoryMs)
      if (recent.length === kept.length) continue
      if (recent.length > 0) this.byTask.set(task, recent)
      else this.byTask.delete(task)
      this.noteChange()
    }
  }
}

/**
 * Reads what a worker wrote, who may have written anything: what `parse` takes for none, or is of no task in `own`, the tasks
 * of the worker's card, is left out. Never throws.
 */
export const parseKept = <T extends KeptCall>(
  value: unknown,
  own: Record<string, unknown>,
  parse: (call: Partial<T>, common: KeptCall) => T | undefined,
): Record<string, T[]> => {
  const parseCall = (call: unknown): T[] => {
    const { id, at, from } = (call ?? {}) as Partial<KeptCall>
    if (!isId(id) || !isMicros(at)) return []
    const common = { id, at, ...(typeof from === 'string' ? { from: from.slice(0, 64) } : {}) }
    const parsed = parse(call as Partial<T>, common)
    return parsed ? [parsed] : []
  }
  const lists = Object.entries(value ?? {}).filter(([task, list]) => Object.hasOwn(own, task) && Array.isArray(list))
  return Object.fromEntries(
    lists.slice(0, maxKeptTasks).map(([task, list]) => [task, list.slice(0, maxKeptCalls).flatMap(parseCall)]),
  )
}

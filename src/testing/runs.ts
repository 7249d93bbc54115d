import type { TaskMiddleware } from '../task/task.ts'

/** For so long, in real time, a handler is waited for before the clock goes on: it may wait for a disk, or for a timer of its own. */
const patienceMs = 100

/** How a run ended: with `error` when the handler threw that. */
export interface End {
  error?: unknown
}

/** The handlers that run now, in this process. */
export class Runs {
  readonly #startedAt = new Map<symbol, number>()
  /** By the id of the request, how its last run ended. */
  readonly #ends = new Map<string, End>()
  readonly #listeners = new Set<() => void>()
  #count = 0

  /** Around all handlers of a worker. */
  readonly middleware: TaskMiddleware = next => async (request, context) => {
    const run = Symbol(request.task)
    this.#startedAt.set(run, performance.now())
    let end: End = {}
    try {
      return await next(request, context)
    } catch (error) {
      end = { error }
      throw error
    } finally {
      this.#startedAt.delete(run)
      this.#count++
      this.#ends.set(context.id, end)
      for (const listener of [...this.#listeners]) listener()
    }
  }

  /** How many have ended. */
  get count(): number {
    return this.#count
  }

  get running(): number {
    return this.#startedAt.size
  }

  /** Some of them began just now, and may end if they are let. */
  get mayEnd(): boolean {
    const now = performance.now()
    return [...this.#startedAt.values()].some(at => now - at < patienceMs)
  }

  /** How the first run of a request ends, or undefined when it has not ended after so long, in real time. */
  async endOf(id: string, timeoutMs: number): Promise<End | undefined> {
    if (!this.#ends.has(id))
      await new Promise<void>(resolve => {
        const done = () => {
          clearTimeout(timer)
          this.#listeners.delete(listener)
          resolve()
        }
        const listener = () => {
          if (this.#ends.has(id)) done()
        }
        const timer = setTimeout(done, timeoutMs)
        this.#listeners.add(listener)
      })
    return this.#ends.get(id)
  }
}

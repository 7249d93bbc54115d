import { type ErrorCode, isErrorCode } from './errors.ts'
import { isMicros } from './foreign.ts'
import { isId } from './keys.ts'

/** A call or job of a task that did not end well on its worker. */
export interface Failure {
  id: string
  /** Redis' microseconds when it ended. */
  at: number
  code: ErrorCode
  /** What its caller was told, cut to 300 characters. */
  message: string
  /** The calling service, as it named itself. */
  from?: string
  /** How long its handler ran, microseconds; 0 for one that was not started. */
  execUs: number
}

/** What one worker publishes of them: by name:version, newest first. */
export type FailuresJson = Record<string, Failure[]>

/** So many per task, of so many tasks, for so long. */
export const maxFailures = 10
export const maxFailureTasks = 50
export const failureMemoryMs = 3600_000
export const maxFailureMessage = 300
/** Tasks that have not failed for long are left out where this many characters are full. */
export const maxFailuresLength = 131_072

interface Kept {
  failure: Failure
  /** Monotonic milliseconds. */
  endedAt: number
}

/** The last failures of each task of one worker. Calls that end well do not come here. */
export class RecentFailures {
  /** Newest first; the task that failed last is the last one. */
  readonly #byTask = new Map<string, Kept[]>()
  #isChanged = false

  /** True when what would be published differs from the last text. */
  isChanged(now: number): boolean {
    this.#forget(now)
    return this.#isChanged
  }

  /** `now` is when it ended. */
  keep(task: string, failure: Failure, now: number): void {
    const kept = this.#byTask.get(task) ?? []
    this.#byTask.delete(task)
    if (this.#byTask.size >= maxFailureTasks) this.#byTask.delete(this.#byTask.keys().next().value!)
    this.#byTask.set(task, kept)
    kept.unshift({ failure: { ...failure, message: failure.message.slice(0, maxFailureMessage) }, endedAt: now })
    kept.length = Math.min(kept.length, maxFailures)
    this.#isChanged = true
  }

  /** Those of the tasks that failed last, as many as there is room for. */
  text(now: number): string {
    this.#forget(now)
    this.#isChanged = false
    const texts: string[] = []
    let length = 2
    for (const [task, kept] of [...this.#byTask].reverse()) {
      const text = `${JSON.stringify(task)}:${JSON.stringify(kept.map(({ failure }) => failure))}`
      length += text.length + 1
      if (length > maxFailuresLength) break
      texts.push(text)
    }
    return `{${texts.join(',')}}`
  }

  #forget(now: number): void {
    for (const [task, kept] of this.#byTask) {
      const recent = kept.filter(({ endedAt }) => now - endedAt < failureMemoryMs)
      if (recent.length === kept.length) continue
      if (recent.length > 0) this.#byTask.set(task, recent)
      else this.#byTask.delete(task)
      this.#isChanged = true
    }
  }
}

/**
 * Reads what a worker wrote, who may have written anything: what is no failure of a task in `own`, the tasks of the worker's
 * card, is left out. Never throws.
 */
export const parseFailures = (value: unknown, own: Record<string, unknown>): FailuresJson => {
  const lists = Object.entries(value ?? {}).filter(([task, list]) => Object.hasOwn(own, task) && Array.isArray(list))
  return Object.fromEntries(
    lists.slice(0, maxFailureTasks).map(([task, list]) => [task, list.slice(0, maxFailures).flatMap(parseFailure)]),
  )
}

const parseFailure = (value: unknown): Failure[] => {
  const { id, at, code, message, from, execUs } = (value ?? {}) as Partial<Failure>
  if (!isId(id) || !isMicros(at) || typeof message !== 'string') return []
  return [
    {
      id,
      at,
      code: isErrorCode(code) ? code : 'TaskFailed',
      message: message.slice(0, maxFailureMessage),
      ...(typeof from === 'string' ? { from: from.slice(0, 64) } : {}),
      execUs: isMicros(execUs) ? execUs : 0,
    },
  ]
}

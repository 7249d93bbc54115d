import { isErrorCode } from './errors.ts'
import { isMicros } from './foreign.ts'
import { isId } from './keys.ts'
import type { Phases } from './phases.ts'

/** One of the slowest calls of a task. */
export interface SlowCall {
  id: string
  /** Redis' microseconds when it ended. */
  at: number
  us: Phases
  /** Absent when it ended well. */
  code?: string
  /** The calling service, as it named itself. */
  from?: string
  /** How long the worker's event loop stood still at a stretch between its push and its end, milliseconds. */
  loopMs: number
}

/** What one worker publishes of them: by name:version, slowest first. */
export type SlowCallsJson = Record<string, SlowCall[]>

/** So many per task, of so many tasks, for so long. */
export const maxSlowCalls = 10
export const maxSlowTasks = 50
export const slowMemoryMs = 5 * 60_000

/** What takes less than this is not slow, whatever the others of its task take. */
const leastUs = 1000

interface Kept {
  call: SlowCall
  totalUs: number
  /** Monotonic milliseconds. */
  endedAt: number
}

/** The slowest calls that each task of one worker had in the last minutes. Nearly all calls cost one comparison. */
export class SlowCalls {
  readonly #byTask = new Map<string, Kept[]>()
  /** What a call of a further task must exceed: nothing while there is room, then the slowest call of the quickest task. */
  #thresholdUs = 0
  #isChanged = false

  /** True when what would be published differs from the last text. */
  isChanged(now: number): boolean {
    this.#forget(now)
    return this.#isChanged
  }

  /** Whether a call that took so long would be kept: only then is it worth to find out all about it. */
  isSlow(task: string, us: Phases): boolean {
    const totalUs = totalOf(us)
    if (totalUs < leastUs) return false
    const kept = this.#byTask.get(task)
    if (kept) return kept.length < maxSlowCalls || totalUs > kept.at(-1)!.totalUs
    return totalUs > this.#thresholdUs
  }

  /** Keeps a call that is slow; another one may have to go. `now` is when it ended. */
  keep(task: string, call: SlowCall, now: number): void {
    let kept = this.#byTask.get(task)
    if (!kept) {
      if (this.#byTask.size >= maxSlowTasks) this.#byTask.delete(this.#quickest()[0])
      this.#byTask.set(task, (kept = []))
    }
    kept.push({ call, totalUs: totalOf(call.us), endedAt: now })
    kept.sort((a, b) => b.totalUs - a.totalUs)
    kept.length = Math.min(kept.length, maxSlowCalls)
    this.#noteChange()
  }

  text(now: number): string {
    this.#forget(now)
    this.#isChanged = false
    const tasks: [string, SlowCall[]][] = [...this.#byTask].map(([task, kept]) => [task, kept.map(({ call }) => call)])
    return JSON.stringify(Object.fromEntries(tasks))
  }

  #noteChange(): void {
    this.#isChanged = true
    this.#thresholdUs = this.#byTask.size < maxSlowTasks ? 0 : this.#quickest()[1][0]!.totalUs
  }

  /** The task whose slowest call took the least. */
  #quickest(): [string, Kept[]] {
    return [...this.#byTask].reduce((least, entry) => (entry[1][0]!.totalUs < least[1][0]!.totalUs ? entry : least))
  }

  #forget(now: number): void {
    for (const [task, kept] of this.#byTask) {
      const recent = kept.filter(({ endedAt }) => now - endedAt < slowMemoryMs)
      if (recent.length === kept.length) continue
      if (recent.length > 0) this.#byTask.set(task, recent)
      else this.#byTask.delete(task)
      this.#noteChange()
    }
  }
}

/**
 * Reads what a worker wrote, who may have written anything: what is no slow call of a task in `own`, the tasks of the worker's
 * card, is left out. Never throws.
 */
export const parseSlowCalls = (value: unknown, own: Record<string, unknown>): SlowCallsJson => {
  const lists = Object.entries(value ?? {}).filter(([task, list]) => Object.hasOwn(own, task) && Array.isArray(list))
  return Object.fromEntries(
    lists.slice(0, maxSlowTasks).map(([task, list]) => [task, list.slice(0, maxSlowCalls).flatMap(parseSlowCall)]),
  )
}

const parseSlowCall = (value: unknown): SlowCall[] => {
  const { id, at, us, code, from, loopMs } = (value ?? {}) as Partial<SlowCall>
  const { backlog, queue, exec } = us ?? {}
  if (!isId(id) || ![at, backlog, queue, exec].every(isMicros)) return []
  return [
    {
      id,
      at: at!,
      us: { backlog: backlog!, queue: queue!, exec: exec! },
      ...(code === undefined ? {} : { code: isErrorCode(code) ? code : 'TaskFailed' }),
      ...(typeof from === 'string' ? { from: from.slice(0, 64) } : {}),
      loopMs: isMicros(loopMs) ? loopMs : 0,
    },
  ]
}

export const totalOf = ({ backlog, queue, exec }: Phases): number => backlog + queue + exec

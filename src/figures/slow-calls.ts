import { codeOf } from '../wire/errors.ts'
import { isMicros } from '../wire/foreign.ts'
import type { Phases } from '../wire/phases.ts'
import { type KeptCall, KeptCalls, maxKeptCalls, maxKeptTasks, parseKept } from './kept-calls.ts'

/** One of the slowest calls of a task. */
export interface SlowCall extends KeptCall {
  us: Phases
  /** Absent when it ended well. */
  code?: string
  /** How long the worker's event loop stood still at a stretch between its push and its end, milliseconds. */
  loopMs: number
}

/** What one worker publishes of them: by name:version, slowest first. */
export type SlowCallsJson = Record<string, SlowCall[]>

export const slowMemoryMs = 5 * 60_000

/** What takes less than this is not slow, whatever the others of its task take. */
const leastUs = 1000

/** The slowest calls that each task of one worker had in the last minutes. Nearly all calls cost one comparison. */
export class SlowCalls extends KeptCalls<SlowCall> {
  /** What a call of a further task must exceed: nothing while there is room, then the slowest call of the quickest task. */
  #thresholdUs = 0

  constructor() {
    super(slowMemoryMs)
  }

  /** Whether a call that took so long would be kept: only then is it worth to find out all about it. */
  isSlow(task: string, us: Phases): boolean {
    const totalUs = totalOf(us)
    if (totalUs < leastUs) return false
    const kept = this.byTask.get(task)
    if (kept) return kept.length < maxKeptCalls || totalUs > totalOf(kept.at(-1)!.call.us)
    return totalUs > this.#thresholdUs
  }

  /** Found when it changes and not with each call: where many tasks are slow, most calls come from a further one. */
  protected override noteChange(): void {
    super.noteChange()
    this.#thresholdUs = this.byTask.size < maxKeptTasks ? 0 : this.#slowestUs(this.leastTask())
  }

  protected override order(a: SlowCall, b: SlowCall): number {
    return totalOf(b.us) - totalOf(a.us)
  }

  /** Whose slowest call took the least. */
  protected override leastTask(): string {
    const tasks = [...this.byTask.keys()]
    return tasks.reduce((least, task) => (this.#slowestUs(task) < this.#slowestUs(least) ? task : least))
  }

  #slowestUs(task: string): number {
    return totalOf(this.byTask.get(task)![0]!.call.us)
  }
}

export const parseSlowCalls = (value: unknown, own: Record<string, unknown>): SlowCallsJson =>
  parseKept<SlowCall>(value, own, ({ us, code, loopMs }, common) => {
    const { backlog, queue, exec } = us ?? {}
    if (!isMicros(backlog) || !isMicros(queue) || !isMicros(exec)) return undefined
    return {
      ...common,
      us: { backlog, queue, exec },
      ...(code === undefined ? {} : { code: codeOf(code) }),
      loopMs: isMicros(loopMs) ? loopMs : 0,
    }
  })

export const totalOf = ({ backlog, queue, exec }: Phases): number => backlog + queue + exec

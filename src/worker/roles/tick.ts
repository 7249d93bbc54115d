import { readEntry, tickOf } from '../../jobs/cron.ts'
import type { Beat } from '../../wire/answers.ts'
import { monotonicMs } from '../../wire/clock.ts'
import { messageOf } from '../../wire/errors.ts'
import type { WorkerContext } from '../context.ts'

/** What comes later than this the beats tell of in time. */
const horizonMs = 2000
/** What could not be done is tried again after this. */
const againMs = 1000

/**
 * Enqueues the jobs of schedules when their times come. One worker of a queue has the turn, and sleeps until the next time; which of them
 * is quickest does not matter, because each time is taken once, in the step that sets the next one.
 */
export class Tick {
  readonly #context: WorkerContext
  #timer: NodeJS.Timeout | undefined
  #underWay: Promise<void> | undefined
  #wakesAt = Number.POSITIVE_INFINITY
  /** Something changed while the times were read. */
  #mustRepeat = false
  #isStopped = false

  constructor(context: WorkerContext) {
    this.#context = context
  }

  onBeat({ tickMs }: Beat): void {
    if (tickMs !== undefined) this.#sleepUntil(tickMs)
  }

  /** The bell of what is due rang: a schedule may be new. */
  onBell(): void {
    this.#tickSoon()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#timer)
    await this.#underWay
  }

  #sleepUntil(tickMs: number, leastMs = 0): void {
    const waitMs = Math.max(leastMs, tickMs - this.#nowMs())
    if (this.#isStopped || waitMs > horizonMs || tickMs >= this.#wakesAt) return
    clearTimeout(this.#timer)
    this.#wakesAt = tickMs
    this.#timer = setTimeout(() => this.#tickSoon(), Math.ceil(waitMs))
  }

  #tickSoon(): void {
    clearTimeout(this.#timer)
    this.#wakesAt = Number.POSITIVE_INFINITY
    this.#mustRepeat = true
    this.#underWay ??= this.#tickAll().finally(() => {
      this.#underWay = undefined
    })
  }

  #nowMs(): number {
    return this.#context.clock.atUs(monotonicMs()) / 1000
  }

  async #tickAll(): Promise<void> {
    const { jobQueue, commands, problem } = this.#context
    try {
      while (this.#mustRepeat && !this.#isStopped) {
        this.#mustRepeat = false
        const found = await commands.send(client => jobQueue.dueSchedules(client, this.#nowMs()))
        let failures = 0
        for (const { name, tickMs, text } of found) if (!(await this.#tick(name, tickMs, text))) failures++
        const next = await commands.send(client => jobQueue.nextSchedule(client))
        if (next !== undefined && !this.#mustRepeat) this.#sleepUntil(next, failures > 0 ? againMs : 0)
      }
    } catch (error) {
      // The next beat of whoever has the turn tells of it again.
      if ((error as Error).name === 'ReplyError') problem('schedule')(error as Error)
    }
  }

  /** False for what could not be done. */
  async #tick(name: string, tickMs: number, text: string | null): Promise<boolean> {
    const { queue, jobQueue, commands, events, problem } = this.#context
    const entry = readEntry(text)
    const plan = entry && planOf(entry, tickMs, this.#nowMs(), queue.name)
    // What cannot be used has no times any more.
    const { message, nextMs } = plan ?? { message: '', nextMs: undefined }
    if (!plan) problem('schedule')(new Error(`The schedule ${name} cannot be used, and is not kept up any more`))
    try {
      const isMine = await commands.send(client => jobQueue.tick(client, name, tickMs, nextMs, message))
      if (isMine && entry)
        events.emit('schedule:tick', { queue: queue.name, name, task: entry.task, tickMs, isSkipped: message === '' })
      return true
    } catch (error) {
      if ((error as Error).name === 'ReplyError') problem('schedule')(new Error(`${name}: ${messageOf(error)}`))
      return false
    }
  }
}

/** Undefined for one whose times nobody can tell. */
const planOf = (...given: Parameters<typeof tickOf>): ReturnType<typeof tickOf> | undefined => {
  try {
    return tickOf(...given)
  } catch {
    return undefined
  }
}

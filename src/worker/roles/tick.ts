import { readEntry, tickOf, UnknownZone } from '../../jobs/cron.ts'
import type { DueSchedule } from '../../queue/job-queue.ts'
import type { Beat } from '../../wire/answers.ts'
import { monotonicMs } from '../../wire/clock.ts'
import { messageOf } from '../../wire/errors.ts'
import { Alarm, type Next } from '../alarm.ts'
import type { WorkerContext } from '../context.ts'

/** What could not be done is tried again after this. */
const againMs = 1000

/**
 * Enqueues the jobs of schedules when their times come. One worker of a queue has the turn, and sleeps until the next time; which of them
 * is quickest does not matter, because each time is taken once, in the step that sets the next one.
 */
export class Tick {
  readonly #context: WorkerContext
  readonly #alarm: Alarm
  /** Entries in time zones that are not known here, and the times that were told of. */
  readonly #left = new Map<string, number>()

  constructor(context: WorkerContext) {
    this.#context = context
    this.#alarm = new Alarm(context, 'schedule', () => this.#tickAll())
  }

  onBeat({ tickMs }: Beat): void {
    this.#alarm.sleepUntil(tickMs)
  }

  /** The bell of what is due rang: a schedule may be new. */
  onBell(): void {
    this.#alarm.ring()
  }

  stop(): Promise<void> {
    return this.#alarm.stop()
  }

  #nowMs(): number {
    return this.#context.clock.atUs(monotonicMs()) / 1000
  }

  async #tickAll(): Promise<Next> {
    const { jobQueue, commands } = this.#context
    let failures = 0
    // What is left to others stays where it is, ahead of all that is due later.
    let left = 0
    for (let before = -1; before < left; ) {
      before = left
      const found = await commands.send(client => jobQueue.dueSchedules(client, this.#nowMs(), left))
      for (const due of found) {
        const done = await this.#tick(due)
        if (done === 'failed') failures++
        if (done === 'left') left++
      }
    }
    const atMs = await commands.send(client => jobQueue.nextSchedule(client, left))
    return { atMs, leastMs: failures > 0 ? againMs : 0 }
  }

  async #tick(due: DueSchedule): Promise<'done' | 'failed' | 'left'> {
    const { name, tickMs, text } = due
    const { queue, jobQueue, commands, events, problem } = this.#context
    const entry = readEntry(text)
    const plan = entry && planOf(entry, tickMs, this.#nowMs(), queue.name)
    if (plan instanceof UnknownZone) return this.#leave(due, plan)
    // What cannot be used has no times any more.
    const { message, nextMs } = plan ?? { message: '', nextMs: undefined }
    if (!plan) problem('schedule')(new Error(`The schedule ${name} is invalid and no longer runs`))
    try {
      const isMine = await commands.send(client => jobQueue.tick(client, name, tickMs, nextMs, message))
      if (isMine && entry)
        events.emit('schedule:tick', { queue: queue.name, name, task: entry.task, tickMs, isSkipped: message === '' })
      this.#left.delete(name)
      return 'done'
    } catch (error) {
      if ((error as Error).name === 'ReplyError') problem('schedule')(new Error(`${name}: ${messageOf(error)}`))
      return 'failed'
    }
  }

  /** A worker that knows the time zone takes its time; one line in the log says that it was not this one. */
  async #leave({ name, tickMs }: DueSchedule, { message }: UnknownZone): Promise<'left'> {
    const { jobQueue, commands, problem } = this.#context
    if (!this.#left.has(name))
      problem('schedule')(new Error(`The schedule ${name} is left to workers that know its time zone: ${message}`))
    if (this.#left.get(name) !== tickMs)
      await commands.send(client => jobQueue.tellUnkept(client, name, tickMs, message)).catch(() => undefined)
    this.#left.set(name, tickMs)
    return 'left'
  }
}

/** Undefined for one whose times nobody can tell. */
const planOf = (...given: Parameters<typeof tickOf>): ReturnType<typeof tickOf> | UnknownZone | undefined => {
  try {
    return tickOf(...given)
  } catch (error) {
    return error instanceof UnknownZone ? error : undefined
  }
}

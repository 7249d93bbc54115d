import { readEntry, tickOf } from '../../jobs/cron.ts'
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
    const found = await commands.send(client => jobQueue.dueSchedules(client, this.#nowMs()))
    let failures = 0
    for (const { name, tickMs, text } of found) if (!(await this.#tick(name, tickMs, text))) failures++
    const atMs = await commands.send(client => jobQueue.nextSchedule(client))
    return { atMs, leastMs: failures > 0 ? againMs : 0 }
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

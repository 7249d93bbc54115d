import { isHeldJob } from '../../jobs/held-job.ts'
import { monotonicMs } from '../../wire/clock.ts'
import type { Request } from '../../wire/message.ts'
import { type Progress, progressText } from '../../wire/stream.ts'
import { clearTimeout, setTimeout } from '../../wire/timers.ts'
import type { WorkerContext } from '../context.ts'

/** How far a run was said to be, and what was written of that. */
interface Told {
  readonly request: Request
  latest: Progress
  writtenAt: number
  timer: NodeJS.Timeout | undefined
}

/** It is written so often at the most, however often a handler says it. */
const everyMs = 250
/** What is written of a job is there for so long, and is written again every `againMs` while it runs. */
const keptMs = 60_000
const againMs = 20_000

/** Tells how far runs are: of a job to whoever looks, of a call to its caller, if that wants to know. */
export class ProgressNotes {
  readonly #context: WorkerContext
  readonly #told = new Map<string, Told>()

  constructor(context: WorkerContext) {
    this.#context = context
  }

  note(request: Request, latest: Progress): void {
    const { heldId } = request
    if (!isHeldJob(heldId) && request.asked?.progress !== true) return
    const told = this.#told.get(heldId)
    if (!told) {
      const first = { request, latest, writtenAt: Number.NEGATIVE_INFINITY, timer: undefined }
      this.#told.set(heldId, first)
      this.#write(first)
      return
    }
    told.latest = latest
    const waitMs = told.writtenAt + everyMs - monotonicMs()
    if (waitMs <= 0) this.#write(told)
    else told.timer ??= setTimeout(() => this.#write(told), waitMs)
  }

  /** A run has ended: its reply, or its job's record, says more. */
  end({ heldId, id }: Request): void {
    if (this.#told.size === 0) return
    const told = this.#told.get(heldId)
    if (!told) return
    clearTimeout(told.timer)
    this.#told.delete(heldId)
    if (!isHeldJob(heldId)) return
    const { commands, jobQueue } = this.#context
    // Where that fails it goes by itself.
    commands.send(client => jobQueue.forgetProgress(client, id)).catch(() => undefined)
  }

  onBeat(): void {
    const now = monotonicMs()
    for (const told of this.#told.values())
      if (isHeldJob(told.request.heldId) && now - told.writtenAt >= againMs) this.#write(told)
  }

  #write(told: Told): void {
    const { commands, queue, jobQueue, problem } = this.#context
    const { request, latest } = told
    const { id, hubId, heldId } = request
    clearTimeout(told.timer)
    told.timer = undefined
    told.writtenAt = monotonicMs()
    // One that is lost is made up for by the next.
    commands
      .send(client =>
        isHeldJob(heldId)
          ? jobQueue.tellProgress(client, id, JSON.stringify(latest), keptMs)
          : queue.reply(client, hubId!, [progressText(id, latest)]),
      )
      .catch((error: Error) => {
        if (error.name === 'ReplyError') problem('progress')(error)
      })
  }
}

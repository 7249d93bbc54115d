import { NotTaken } from '../jobs/not-taken.ts'
import { messageOf } from '../wire/errors.ts'
import { clearTimeout, setTimeout } from '../wire/timers.ts'
import type { ForwardedJob, ForwardOutcome, ForwardTarget, NotForwarded } from './target.ts'

export interface BatcherOptions {
  target: ForwardTarget
  /** Most jobs of a batch. */
  batch: number
  /** How long the first job of a batch waits for others. */
  waitMs: number
  /** How long a batch may take. */
  timeoutMs: number
  /** Most jobs that are here at a time. */
  slots: number
}

/** A job that waits for what becomes of it. */
interface Entry {
  readonly job: ForwardedJob
  readonly signal: AbortSignal
  resolve(): void
  reject(reason: NotTaken): void
}

/** Collects jobs into batches, and tells each of them what became of it. */
export class Batcher {
  readonly #options: BatcherOptions
  readonly #underWay = new Set<Promise<void>>()
  #waiting: Entry[] = []
  #busy = 0
  #timer: NodeJS.Timeout | undefined

  constructor(options: BatcherOptions) {
    this.#options = options
  }

  /**
   * Resolves when the other side has confirmed the job; rejects with a NotTaken.
   * @param signal fires when nobody waits for it any more
   */
  add(job: ForwardedJob, signal: AbortSignal): Promise<void> {
    const { batch, slots, waitMs } = this.#options
    return new Promise((resolve, reject) => {
      this.#waiting.push({ job, signal, resolve, reject })
      // Where all slots are taken nobody else will come.
      const isFull = this.#waiting.length >= batch || this.#waiting.length + this.#busy >= slots
      if (isFull) this.#flush()
      else this.#timer ??= setTimeout(() => this.#flush(), waitMs)
    })
  }

  /** Resolves when no batch is under way, whoever waits for it or not. */
  async idle(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay)
  }

  #flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    // What was cancelled, or belongs to others by now, need not go.
    const entries = this.#waiting.filter(({ signal }) => !signal.aborted)
    for (const { signal, reject } of this.#waiting) if (signal.aborted) reject(new NotTaken('it was cancelled'))
    this.#waiting = []
    if (entries.length === 0) return
    this.#busy += entries.length
    const work = this.#send(entries).finally(() => {
      this.#busy -= entries.length
      this.#underWay.delete(work)
    })
    this.#underWay.add(work)
  }

  /** Never rejects. */
  async #send(entries: readonly Entry[]): Promise<void> {
    const { target, timeoutMs } = this.#options
    const controller = new AbortController()
    const tooSlow = new Error(`the target did not confirm it within ${timeoutMs} ms`)
    const timer = setTimeout(() => controller.abort(tooSlow), timeoutMs)
    const onAbort = () => {
      if (entries.every(({ signal }) => signal.aborted)) controller.abort(new Error('the forwarder is shutting down'))
    }
    for (const { signal } of entries) signal.addEventListener('abort', onAbort)
    // One that ignores its signal must not keep its slots.
    const aborted = new Promise<never>((_, reject) => {
      controller.signal.addEventListener('abort', () => reject(controller.signal.reason))
    })
    try {
      const jobs = entries.map(({ job }) => job)
      const sent = (async () => target.forward(jobs, controller.signal))()
      tell(entries, await Promise.race([sent, aborted]))
    } catch (error) {
      // Never what was thrown: of a signal's reason fetch writes itself onto the stack.
      const reason = new NotTaken(messageOf(error))
      for (const { reject } of entries) reject(reason)
    } finally {
      clearTimeout(timer)
      for (const { signal } of entries) signal.removeEventListener('abort', onAbort)
    }
  }
}

/** @throws TypeError for what is no outcome; then none of them was told */
const tell = (entries: readonly Entry[], outcome: Iterable<string> | ForwardOutcome): void => {
  const { taken, failed = [] } = isOutcome(outcome) ? outcome : { taken: outcome }
  const ids = new Set(taken)
  const reasons = new Map([...failed].map(each => [each.id, each]))
  for (const { job, resolve, reject } of entries) {
    if (ids.has(job.id)) resolve()
    else reject(notTaken(reasons.get(job.id)))
  }
}

const isOutcome = (outcome: Iterable<string> | ForwardOutcome): outcome is ForwardOutcome =>
  typeof outcome === 'object' && outcome !== null && 'taken' in outcome

const notTaken = (known: NotForwarded | undefined): NotTaken => {
  if (!known) return new NotTaken('the target did not accept it')
  const { reason, isFinal = false, retryAfterMs = 0, status } = known
  try {
    return new NotTaken(String(reason), { isFinal, retryAfterMs, status })
  } catch (error) {
    // What is wrong with one must not reach the others, which may have been taken.
    return new NotTaken(`${reason} (and the target gave an invalid verdict: ${messageOf(error)})`)
  }
}

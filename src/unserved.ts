import { monotonicMs } from './clock.ts'
import type { ErrorCode } from './errors.ts'
import type { Whereabouts } from './registrar.ts'

export interface UnservedOptions {
  queueName: string
  /** Asks the registry; rejects when that cannot be read. */
  whereabouts(task: string): Promise<Whereabouts>
}

interface Verdict {
  code: ErrorCode & ('NoSuchTask' | 'NoWorkers')
  message: string
}

interface Sight {
  lookedAt: number
  /** When the first of an unbroken row of looks found nobody who takes it. */
  missingSince: number
  verdict: Verdict
}

/** A look counts for this long, and is not repeated any sooner. */
const lookMs = 500
/**
 * For how long nobody must have taken a task: after an outage of Redis each lease has ended, and the others must have time
 * to renew theirs.
 */
export const unservedPatienceMs = 2000
const maxTasks = 1000

/**
 * Which tasks no worker of the queue takes at the moment. A request for one goes from worker to worker, each of which hands
 * it back; when it has no deadline of its own, nothing else would ever end that.
 */
export class Unserved {
  readonly #options: UnservedOptions
  readonly #sights = new Map<string, Sight | undefined>()
  readonly #looking = new Set<string>()

  constructor(options: UnservedOptions) {
    this.#options = options
  }

  /** What to answer; undefined as long as somebody may take it. Looks behind the question: it is asked again soon. */
  verdict(task: string): Verdict | undefined {
    const sight = this.#sights.get(task)
    const now = monotonicMs()
    if (!sight || now - sight.lookedAt > lookMs) void this.#look(task)
    if (!sight || now - sight.lookedAt > 2 * lookMs) return undefined
    return sight.lookedAt - sight.missingSince >= unservedPatienceMs ? sight.verdict : undefined
  }

  async #look(task: string): Promise<void> {
    if (this.#looking.has(task)) return
    this.#looking.add(task)
    try {
      const where = await this.#options.whereabouts(task)
      if (where.isServed) this.#sights.delete(task)
      else this.#missed(task, where)
    } catch {
      // The registry cannot be read; the next look may be luckier.
    } finally {
      this.#looking.delete(task)
    }
  }

  #missed(task: string, where: Whereabouts): void {
    const lookedAt = monotonicMs()
    const before = this.#sights.get(task)
    const isUnbroken = before !== undefined && lookedAt - before.lookedAt < unservedPatienceMs
    if (!before && this.#sights.size >= maxTasks) this.#sights.clear()
    const missingSince = isUnbroken ? before.missingSince : lookedAt
    this.#sights.set(task, { lookedAt, missingSince, verdict: this.#verdictOf(task, where) })
  }

  #verdictOf(task: string, { declaredIn, isServedThere }: Whereabouts): Verdict {
    const { queueName } = this.#options
    if (declaredIn === undefined) return { code: 'NoSuchTask', message: `No worker ever declared ${task}.` }
    const place = `${isServedThere ? 'It is served' : 'Its last workers were'} in queue ${declaredIn}.`
    const elsewhere = declaredIn === queueName ? '' : ` ${place}`
    return { code: 'NoWorkers', message: `No live worker of queue ${queueName} provides ${task}.${elsewhere}` }
  }
}

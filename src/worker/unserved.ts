import type { Verdict } from '../catalogue/registrar.ts'
import { monotonicMs } from '../wire/clock.ts'

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
  readonly #look: (task: string) => Promise<Verdict | undefined>
  readonly #sights = new Map<string, Sight>()
  readonly #looking = new Set<string>()

  /** `look` asks the registry why nobody takes a task, undefined while somebody does; rejects when that cannot be read. */
  constructor(look: (task: string) => Promise<Verdict | undefined>) {
    this.#look = look
  }

  /** What to answer; undefined as long as somebody may take it. Looks behind the question: it is asked again soon. */
  verdict(task: string): Verdict | undefined {
    const sight = this.#sights.get(task)
    const now = monotonicMs()
    if (!sight || now - sight.lookedAt > lookMs) void this.#lookAgain(task)
    if (!sight || now - sight.lookedAt > 2 * lookMs) return undefined
    return sight.lookedAt - sight.missingSince >= unservedPatienceMs ? sight.verdict : undefined
  }

  async #lookAgain(task: string): Promise<void> {
    if (this.#looking.has(task)) return
    this.#looking.add(task)
    try {
      const verdict = await this.#look(task)
      if (verdict) this.#missed(task, verdict)
      else this.#sights.delete(task)
    } catch {
      // The registry cannot be read; the next look may be luckier.
    } finally {
      this.#looking.delete(task)
    }
  }

  #missed(task: string, verdict: Verdict): void {
    const lookedAt = monotonicMs()
    const before = this.#sights.get(task)
    const isUnbroken = before !== undefined && lookedAt - before.lookedAt < unservedPatienceMs
    if (!before && this.#sights.size >= maxTasks) this.#sights.clear()
    this.#sights.set(task, { lookedAt, missingSince: isUnbroken ? before.missingSince : lookedAt, verdict })
  }
}

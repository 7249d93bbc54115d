import type { WorkerCard } from './cards.ts'
import type { Catalogue } from './catalogue.ts'
import type { Connection } from './redis.ts'

/** Cards of workers that are kept; an identity is seen once and its worker may be long gone. */
const maxCards = 10_000
/** Statistics read at a time: nearly always the first worker looked at takes calls. */
const statsPage = 8

/**
 * Who takes requests for a task at the moment: a worker of its queue whose lease holds, that lists the task on its card,
 * and that is not draining. The one place that decides it, for callers and for workers alike.
 */
export class Providers {
  readonly #catalogue: Catalogue
  /** What a worker provides never changes under its id, so a card is read once. */
  readonly #cards = new Map<string, WorkerCard>()

  constructor(catalogue: Catalogue) {
    this.#catalogue = catalogue
  }

  /** Slots of those among the ones with a lease in `leases`, together; 0 without any. Rejects with the connection's error. */
  async slots(connection: Connection, leases: string, task: string): Promise<number> {
    const ids = await connection.send(client => this.#catalogue.liveIds(client, leases))
    await this.#readCards(connection, ids)
    const cards = ids.map(id => this.#cards.get(id)).filter(card => card && Object.hasOwn(card.tasks, task))
    const providers = cards as WorkerCard[]
    for (let from = 0; from < providers.length; from += statsPage) {
      const page = providers.slice(from, from + statsPage).map(({ id }) => id)
      const stats = await connection.send(client => this.#catalogue.workerStats(client, page))
      // A worker may do without statistics; then nobody can know better. One that takes calls is enough to know: that
      // others may be draining makes the sum too large by their slots, for as long as they leave.
      if (stats.some(each => each?.draining !== true))
        return providers.reduce((sum, { slots }) => sum + Math.max(1, slots), 0)
    }
    return 0
  }

  async #readCards(connection: Connection, ids: string[]): Promise<void> {
    const unread = ids.filter(id => !this.#cards.has(id))
    if (unread.length === 0) return
    const cards = await connection.send(client => this.#catalogue.workerCards(client, unread))
    if (this.#cards.size > maxCards) this.#cards.clear()
    for (const card of cards) this.#cards.set(card.id, card)
  }
}

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
  /** Which tasks a worker provides never changes under its id, so a card is read once. */
  readonly #tasksOf = new Map<string, Record<string, string>>()

  constructor(catalogue: Catalogue) {
    this.#catalogue = catalogue
  }

  /** Whether there is one among those with a lease in `leases`. Rejects with the connection's error. */
  async exist(connection: Connection, leases: string, task: string): Promise<boolean> {
    const ids = await connection.send(client => this.#catalogue.liveIds(client, leases))
    await this.#readCards(connection, ids)
    const providers = ids.filter(id => Object.hasOwn(this.#tasksOf.get(id) ?? {}, task))
    for (let from = 0; from < providers.length; from += statsPage) {
      const page = providers.slice(from, from + statsPage)
      const stats = await connection.send(client => this.#catalogue.workerStats(client, page))
      // A worker may do without statistics; then nobody can know better.
      if (stats.some(each => each?.draining !== true)) return true
    }
    return false
  }

  async #readCards(connection: Connection, ids: string[]): Promise<void> {
    const unread = ids.filter(id => !this.#tasksOf.has(id))
    if (unread.length === 0) return
    const cards = await connection.send(client => this.#catalogue.workerCards(client, unread))
    if (this.#tasksOf.size > maxCards) this.#tasksOf.clear()
    for (const { id, tasks } of cards) this.#tasksOf.set(id, tasks)
  }
}

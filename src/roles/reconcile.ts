import type { Queue } from '../queue.ts'
import type { Connection } from '../redis.ts'

export interface ReconcileOptions {
  queue: Queue
  connection: Connection
  workerId(): string
  knows(id: string): boolean
  /** This worker holds these without knowing of them, from before `nowUs` (Redis): its claim was not answered. */
  onFound(found: { id: string; text: string }[], workerId: string, nowUs: number): void
}

/**
 * Finds claims whose answers were lost on the wire. They would stay for ever: a live worker's lease never ends, so
 * nobody adopts from it. Run with each beat. An id counts as lost when two looks in a row found it unknown, because at
 * a single look its claim may just be on its way here.
 */
export class Reconcile {
  readonly #options: ReconcileOptions
  #suspects = new Set<string>()

  constructor(options: ReconcileOptions) {
    this.#options = options
  }

  /** @param nowUs Redis' time of the beat */
  async look(nowUs: number): Promise<void> {
    const { queue, connection, workerId, knows, onFound } = this.#options
    const id = workerId()
    const unknown = (await connection.send(client => queue.heldIds(client, id))).filter(held => !knows(held))
    const lost = unknown.filter(held => this.#suspects.has(held))
    this.#suspects = new Set(unknown)
    if (lost.length === 0 || id !== workerId()) return
    const texts = await connection.send(client => queue.heldTexts(client, id, lost))
    if (id !== workerId()) return
    const found = lost.flatMap((held, index) => {
      const text = texts[index]
      return typeof text === 'string' && !knows(held) ? [{ id: held, text }] : []
    })
    if (found.length > 0) onFound(found, id, nowUs)
  }
}

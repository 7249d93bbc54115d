import type { Queue } from '../queue.ts'
import type { Connection } from '../redis.ts'
import { heldIdOf } from '../taken.ts'

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
 * a single look its claim may just be on its way here. What this worker took without the claim script is known by its text.
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
    const [held, taken] = await connection.send(client =>
      Promise.all([queue.heldIds(client, id), queue.taken.texts(client, id)]),
    )
    const unknownIds = held.filter(each => !knows(each))
    const unknownTexts = taken.filter(text => !knows(heldIdOf(text, 0)))
    const lostIds = unknownIds.filter(each => this.#suspects.has(each))
    const lostTexts = unknownTexts.filter(text => this.#suspects.has(text))
    this.#suspects = new Set([...unknownIds, ...unknownTexts])
    if (lostIds.length + lostTexts.length === 0 || id !== workerId()) return
    const moved = lostTexts.map((text, place) => ({ id: heldIdOf(text, nowUs, place), text }))
    const texts = await connection.send(async client => {
      const holding = moved.length > 0 ? queue.taken.hold(client, id, moved) : undefined
      const reading = lostIds.length > 0 ? queue.heldTexts(client, id, lostIds) : []
      return (await Promise.all([reading, holding]))[0]
    })
    if (id !== workerId()) return
    const found = lostIds.flatMap((each, index) => {
      const text = texts[index]
      return typeof text === 'string' ? [{ id: each, text }] : []
    })
    const stillLost = [...found, ...moved].filter(each => !knows(each.id))
    if (stillLost.length > 0) onFound(stillLost, id, nowUs)
  }
}

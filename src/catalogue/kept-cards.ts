import type { TaskCard } from '../task/card.ts'

export type FieldCard = TaskCard & { field: string }

/** Cards that one look reads again of those that were read before. */
const rereadAtOnce = 1000

/**
 * Cards of tasks that were read, for whoever looks each second: they hardly change, and their schemas are long. Of up to a thousand all are read
 * each time; of more those that are new, and a thousand others, round and round.
 */
export class KeptCards {
  #cards = new Map<string, FieldCard>()
  #place = 0

  /** Which of the fields that are there are to be read. */
  due(fields: readonly string[]): string[] {
    if (fields.length <= rereadAtOnce) return [...fields]
    const from = this.#place >= fields.length ? 0 : this.#place
    this.#place = from + rereadAtOnce
    return fields.filter((field, at) => (at >= from && at < from + rereadAtOnce) || !this.#cards.has(field))
  }

  /** All that is known of the fields that are there; `read`: what was read of those that were due, without what cannot be read. */
  take(fields: readonly string[], due: readonly string[], read: readonly FieldCard[]): FieldCard[] {
    const now = new Map(read.map(card => [card.field, card]))
    const isDue = new Set(due)
    const cards = new Map<string, FieldCard>()
    for (const field of fields) {
      const card = isDue.has(field) ? now.get(field) : this.#cards.get(field)
      if (card) cards.set(field, card)
    }
    this.#cards = cards
    return [...cards.values()]
  }
}

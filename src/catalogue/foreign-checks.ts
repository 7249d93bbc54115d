import type { Events } from '../figures/events.ts'
import type { TaskCard } from '../task/card.ts'
import { compileForeign, UnusableSchema, type Validate } from '../task/schema.ts'
import { messageOf } from '../wire/errors.ts'
import { furtherField } from './cards.ts'

/** The schema of a card, and what it was compiled to. */
interface Compiled {
  text: string
  checkArgs: Validate | undefined
}

/** When there are more they are forgotten. */
const maxKept = 10_000

/** Checks of arguments by schemas that other processes published. */
export class ForeignChecks {
  readonly #events: Events
  /** By task and queue. */
  readonly #compiled = new Map<string, Compiled>()

  constructor(events: Events) {
    this.#events = events
  }

  /** Undefined where a card has no schema, or one that cannot be used here. */
  of(card: TaskCard): Validate | undefined {
    if (card.args === undefined) return undefined
    const place = furtherField(card.task, card.queue)
    const text = JSON.stringify(card.args)
    const known = this.#compiled.get(place)
    if (known?.text === text) return known.checkArgs
    const checkArgs = this.#compile(card.task, text)
    if (this.#compiled.size >= maxKept) this.#compiled.clear()
    this.#compiled.set(place, { text, checkArgs })
    return checkArgs
  }

  /**
   * What cannot be used is told; the worker's verdict counts then. A schema that turns out to run too long is not run again: the
   * argument at hand goes to the worker unchecked, and so do all others.
   */
  #compile(task: string, text: string): Validate | undefined {
    const tell = (reason: string) => this.#events.emit('schema:unused', { task, reason })
    let check: Validate | undefined
    try {
      check = compileForeign(text)
    } catch (error) {
      tell(messageOf(error))
      return undefined
    }
    return (value, size) => {
      try {
        return check?.(value, size) ?? []
      } catch (error) {
        if (!(error instanceof UnusableSchema)) throw error
        check = undefined
        tell(error.message)
        return []
      }
    }
  }
}

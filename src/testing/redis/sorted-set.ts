import { RedisError } from './reply.ts'

export interface Scored {
  readonly member: string
  readonly score: number
}

const inOrder = (a: Scored, b: Scored): number =>
  a.score - b.score || (a.member < b.member ? -1 : a.member > b.member ? 1 : 0)

/** Members by score, and by their bytes where that is equal. */
export class SortedSet {
  readonly #scores = new Map<string, number>()
  #sorted: Scored[] | undefined

  get size(): number {
    return this.#scores.size
  }

  get sorted(): readonly Scored[] {
    this.#sorted ??= [...this.#scores].map(([member, score]) => ({ member, score })).sort(inOrder)
    return this.#sorted
  }

  score(member: string): number | undefined {
    return this.#scores.get(member)
  }

  set(member: string, score: number): void {
    this.#scores.set(member, score)
    this.#sorted = undefined
  }

  delete(member: string): boolean {
    const wasThere = this.#scores.delete(member)
    if (wasThere) this.#sorted = undefined
    return wasThere
  }

  /** Those whose scores lie between two ends as Redis writes them: `(5`, `-inf`. */
  between(low: string, high: string): Scored[] {
    const [from, to] = [endOf(low), endOf(high)]
    return this.sorted.filter(
      ({ score }) =>
        (from.isOpen ? score > from.score : score >= from.score) && (to.isOpen ? score < to.score : score <= to.score),
    )
  }
}

const endOf = (text: string): { score: number; isOpen: boolean } => {
  const isOpen = text.startsWith('(')
  return { score: scoreOf(isOpen ? text.slice(1) : text, 'ERR min or max is not a float'), isOpen }
}

/** @throws RedisError */
export const scoreOf = (text: string, message = 'ERR value is not a valid float'): number => {
  const infinite = /^([+-]?)inf(inity)?$/i.exec(text)
  if (infinite) return infinite[1] === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
  const score = text.trim() === '' ? Number.NaN : Number(text)
  if (Number.isNaN(score)) throw new RedisError(message)
  return score
}

/** As Redis writes scores. */
export const scoreText = (score: number): string => {
  if (Number.isFinite(score)) return String(score)
  return score > 0 ? 'inf' : '-inf'
}

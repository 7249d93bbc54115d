import { Refusal } from './refusal.ts'

const refused = (message: string) => new Refusal(400, 'BadRequest', message)

/** Named values that somebody sent, in a body or a query, read one by one. Each of them throws a Refusal that names the field. */
export class Fields {
  readonly #values: Record<string, unknown>

  /** Nothing is as good as an empty object. What is not among those that are known is rejected: it may be a typing mistake. */
  constructor(values: unknown, known: readonly string[]) {
    if (values !== undefined && (typeof values !== 'object' || values === null || Array.isArray(values)))
      throw refused(`Send an object with ${known.join(', ')}.`)
    this.#values = (values ?? {}) as Record<string, unknown>
    for (const name of Object.keys(this.#values))
      if (!known.includes(name))
        throw refused(
          `Unknown member '${name.slice(0, 40)}'. ${known.length > 0 ? `Known: ${known.join(', ')}.` : 'Send {}.'}`,
        )
  }

  has(name: string): boolean {
    return this.#values[name] !== undefined
  }

  any(name: string): unknown {
    return this.#values[name]
  }

  text(name: string, most = 200): string | undefined {
    const value = this.#values[name]
    if (value === undefined || (typeof value === 'string' && value.length <= most)) return value as string | undefined
    throw refused(`'${name}' must be a string of up to ${most} characters.`)
  }

  neededText(name: string, most = 200): string {
    const value = this.text(name, most)
    if (value !== undefined && value !== '') return value
    throw refused(`'${name}' is missing.`)
  }

  choice<T extends string>(name: string, known: readonly T[]): T | undefined {
    const value = this.#values[name]
    if (value === undefined || known.includes(value as T)) return value as T | undefined
    throw refused(`'${name}' must be one of ${known.join(', ')}.`)
  }

  neededChoice<T extends string>(name: string, known: readonly T[]): T {
    const value = this.choice(name, known)
    if (value !== undefined) return value
    throw refused(`'${name}' is missing; it must be one of ${known.join(', ')}.`)
  }

  number(name: string): number | undefined {
    const value = this.#values[name]
    if (value === undefined || typeof value === 'number') return value
    throw refused(`'${name}' must be a number.`)
  }

  /** A whole number of at least 0. In a query it is a text. */
  count(name: string, most = Number.MAX_SAFE_INTEGER): number | undefined {
    const value = this.#values[name]
    if (value === undefined) return undefined
    const number = typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : value
    if (Number.isSafeInteger(number) && (number as number) >= 0 && (number as number) <= most) return number as number
    throw refused(`'${name}' must be a whole number from 0 to ${most}.`)
  }

  /** Milliseconds since 1970, which may have a fraction. */
  moment(name: string): number | undefined {
    const value = this.#values[name]
    if (value === undefined) return undefined
    const number = typeof value === 'string' && /^\d{1,16}(\.\d{1,6})?$/.test(value) ? Number(value) : value
    if (typeof number === 'number' && number >= 0 && number <= 8.64e15) return number
    throw refused(`'${name}' must be milliseconds since 1970.`)
  }
}

import type { FastifyRequest } from 'fastify'
import { Refusal } from './refusal.ts'

/** One value of the query, which anybody may have written. Undefined where it is missing; throws a Refusal for any other. */
export const queryText = ({ query }: FastifyRequest, name: string, maxLength: number): string | undefined => {
  const value = (query as Record<string, unknown>)[name]
  if (value === undefined) return undefined
  if (typeof value === 'string' && value.length <= maxLength) return value
  throw new Refusal(400, 'BadRequest', `The query may have one '${name}', of up to ${maxLength} characters.`)
}

export const queryChoice = <T extends string>(request: FastifyRequest, name: string, known: readonly T[]): T => {
  const value = queryText(request, name, 20) ?? known[0]!
  if (known.includes(value as T)) return value as T
  throw new Refusal(400, 'BadRequest', `'${name}' in the query must be one of ${known.join(', ')}.`)
}

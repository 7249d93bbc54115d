import { HubError } from '../wire/errors.ts'
import { encodePayload, exceeds, invalid, PayloadProblem } from '../wire/payload.ts'
import type { Route } from './resolver.ts'

/** The arguments of a call as JSON, or why they are refused before anything is sent. */
export const encodeArgs = (route: Route, args: unknown, maxBytes: number): string | HubError => {
  const details = { task: route.task }
  try {
    const json = encodePayload(args)
    if (exceeds(json, maxBytes)) {
      const message = `The arguments of ${route.task} are larger than ${maxBytes} bytes; pass a reference to them instead.`
      return new HubError('PayloadTooLarge', message, details)
    }
    if (!route.checkArgs || route.checkArgs(args, json.length).length === 0) return json
    // What counts is what travels: a Date is a string there, an undefined property is absent.
    const problems = route.checkArgs(JSON.parse(json), json.length)
    return problems.length === 0 ? json : invalid('InvalidArgs', problems, details)
  } catch (error) {
    if (error instanceof PayloadProblem) return invalid('InvalidArgs', [error.problem], details)
    throw error
  }
}

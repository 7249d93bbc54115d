import { HubError } from '../wire/errors.ts'
import { encodeFitting, invalid } from '../wire/payload.ts'
import type { Route } from './resolver.ts'

/** The arguments of a call as JSON, or why they are refused before anything is sent. */
export const encodeArgs = (route: Route, args: unknown, maxBytes: number): string | HubError => {
  const encoded = encodeFitting(args, maxBytes, route.checkArgs)
  if (typeof encoded === 'string') return encoded
  const details = { task: route.task }
  if (encoded) return invalid('InvalidArgs', encoded, details)
  const message = `The arguments of ${route.task} are larger than ${maxBytes} bytes; pass a reference to them instead.`
  return new HubError('PayloadTooLarge', message, details)
}

import { type Called, calledName } from '../task/task.ts'
import { HubError, messageOf } from '../wire/errors.ts'
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

export const nameOf = (task: Called): string => {
  const name = calledName(task)
  if (typeof name === 'string') return name
  throw new HubError('NoSuchTask', 'The task must be a name like my_task:1.0, or what defineTask returned.')
}

/** What travels of the arguments, where the task that was given says how that is made of them. */
export const serialized = (task: Called, args: unknown): unknown => {
  const serialize =
    typeof task === 'string' ? undefined : (task.serialize as ((payload: unknown) => unknown) | undefined)
  if (!serialize) return args
  try {
    return serialize(args)
  } catch (cause) {
    throw new HubError('InvalidArgs', `${nameOf(task)}: its serialize threw: ${messageOf(cause)}.`, { cause })
  }
}

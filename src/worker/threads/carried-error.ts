import {
  ConfigError,
  HubError,
  isErrorCode,
  messageOf,
  TaskError,
  type TaskErrorOptions,
  type WireError,
} from '../../wire/errors.ts'
import { Abandoned, failureOf } from '../../wire/failures.ts'
import { parseNumbers } from '../../wire/json/numbers.ts'
import { encodePayload } from '../../wire/payload.ts'

/** What was thrown, as it crosses from thread to thread: structured cloning keeps neither classes nor what hangs on an error. */
export type CarriedError =
  | { is: 'value'; value: unknown }
  | { is: 'TaskError'; stack: string; message: string; isFinal: boolean; options: TaskErrorOptions }
  | { is: 'HubError' | 'Abandoned'; stack: string; told: WireError & { task?: string; id?: string } }
  | { is: 'ConfigError'; stack: string; message: string }
  | { is: 'Error'; stack: string; name: string; message: string; own: Record<string, unknown>; cause?: CarriedError }

/** Causes of causes have an end, unless somebody made a circle. */
const mostCauses = 8

/** Never throws: a thrown object can have getters that throw in turn. */
export const packError = (thrown: unknown, causes = mostCauses): CarriedError => {
  try {
    if (!(thrown instanceof Error)) return { is: 'value', value: parseNumbers(encodePayload(thrown), 'bigint') }
    const stack = String(thrown.stack)
    const message = messageOf(thrown)
    if (thrown instanceof TaskError) {
      const { code, status, retryable, data } = failureOf(thrown)
      const options = { code, status, retryable, data: asJson(data) }
      return { is: 'TaskError', stack, message, isFinal: thrown.isFinal, options }
    }
    if (thrown instanceof HubError && isErrorCode(thrown.kind)) {
      const told = asJson({ ...thrown.toJSON(), status: thrown.status, data: asJson(thrown.data) }) as WireError
      return { is: thrown instanceof Abandoned ? 'Abandoned' : 'HubError', stack, told }
    }
    if (thrown instanceof ConfigError) return { is: 'ConfigError', stack, message }
    const cause = thrown.cause === undefined || causes === 0 ? {} : { cause: packError(thrown.cause, causes - 1) }
    return { is: 'Error', stack, name: String(thrown.name), message, own: ownOf(thrown), ...cause }
  } catch {
    return { is: 'Error', stack: '', name: 'Error', message: messageOf(thrown), own: {} }
  }
}

/** As it was thrown there, for handlers, `backoff` functions, middleware and the log. */
export const unpackError = (carried: CarriedError): unknown => {
  if (carried.is === 'value') return carried.value
  const error = errorOf(carried)
  Object.defineProperty(error, 'stack', { value: carried.stack, writable: true, configurable: true })
  return error
}

const errorOf = (carried: Exclude<CarriedError, { is: 'value' }>): Error => {
  if (carried.is === 'ConfigError') return new ConfigError(carried.message)
  if (carried.is === 'TaskError') {
    const { message, isFinal, options } = carried
    const { retryable, ...rest } = options
    return new TaskError(message, retryable || isFinal ? options : rest)
  }
  if (carried.is === 'Error') {
    const error = new Error(carried.message, carried.cause && { cause: unpackError(carried.cause) })
    // As the name of a class is: not among the fields that a log shows.
    Object.defineProperty(error, 'name', { value: carried.name, writable: true, configurable: true })
    return Object.assign(error, carried.own)
  }
  const { code, message, ...details } = carried.told
  const Kind = carried.is === 'Abandoned' ? Abandoned : HubError
  return new Kind(code, message, details)
}

/** A `code` and its like; what is not JSON stays behind. */
const ownOf = (error: Error): Record<string, unknown> => {
  const own = Object.entries(error).filter(([key]) => !['name', 'message', 'stack', 'cause'].includes(key))
  return Object.fromEntries(own.map(([key, value]) => [key, asJson(value)]).filter(([, value]) => value !== undefined))
}

/** Undefined when it is not JSON, as of what travels in a reply. */
const asJson = (value: unknown): unknown => {
  try {
    return parseNumbers(encodePayload(value), 'bigint')
  } catch {
    return undefined
  }
}

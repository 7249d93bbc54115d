import {
  HubError,
  isErrorCode,
  isFailedStatus,
  isOwnCode,
  messageOf,
  PutOff,
  TaskError,
  type WireError,
} from './errors.ts'
import { parseExact } from './json/exact-json.ts'
import { PayloadProblem } from './json/json-value.ts'
import { encodePayload, invalid } from './payload.ts'

/** Why the executor itself ended a run; the caller is told its code. */
export class Abandoned extends HubError {}

/** Arguments, or what a handler made, that do not fit. */
export const refused: typeof invalid = (code, problems, details) => {
  const { message, data } = invalid(code, problems, details)
  return new Abandoned(code, message, { ...details, data })
}

/**
 * What the caller is told of a failure: class, message and the handler's own data, never a stack. Never throws. `wasStarted`: the handler
 * was, so that no code may be told which says that it was not.
 */
export const failureOf = (thrown: unknown, wasStarted = true): WireError => {
  try {
    // By the executor itself: the code says so.
    if (thrown instanceof Abandoned)
      return { code: thrown.kind, message: thrown.message, retryable: false, ...dataOf(thrown.data) }
    const message = messageOf(thrown).slice(0, maxMessageLength)
    if (thrown instanceof PutOff) {
      const code = wasStarted ? 'TaskFailed' : 'Overloaded'
      return { code, message, retryable: true, data: { retryAfterMs: Math.ceil(thrown.delayMs) } }
    }
    if (thrown instanceof TaskError)
      return {
        ...chosenOf(thrown),
        message,
        retryable: thrown.retryable === true,
        ...dataOf(thrown.data),
      }
    const data = thrown instanceof HubError && isErrorCode(thrown.kind) ? nestedDataOf(thrown) : {}
    return { code: 'TaskFailed', message, retryable: false, ...data }
  } catch {
    // A thrown object can have getters that throw in turn.
    return { code: 'TaskFailed', message: messageOf(undefined), retryable: false }
  }
}

/** What the handler said of it, as far as it is still that: both can have been assigned since. */
const chosenOf = ({ code, status }: TaskError): Pick<WireError, 'code' | 'status'> => ({
  code: isOwnCode(code) ? code : 'TaskFailed',
  ...(isFailedStatus(status) ? { status } : {}),
})

const maxMessageLength = 2000
const maxDataLength = 65_536

/** As it is now: the handler may go on changing it until the reply is written. Of data that cannot travel, why; of too much, nothing. */
const dataOf = (data: unknown): { data?: unknown } => {
  if (data === undefined) return {}
  const told = travelling(data)
  return told instanceof PayloadProblem ? { data: { problems: [told.problem] } } : told
}

const travelling = (data: unknown): { data?: unknown } | PayloadProblem => {
  try {
    // With the level that the reply puts around it.
    const text = encodePayload({ data })
    return text.length <= maxDataLength ? (parseExact(text) as { data?: unknown }) : {}
  } catch (error) {
    return error instanceof PayloadProblem ? error : {}
  }
}

/** A nested call's error is a failure of this task; which one it was is worth knowing, also without its own data. */
const nestedDataOf = (error: HubError): { data?: unknown } => {
  const nested = error.toJSON()
  const told = travelling({ nested })
  return 'data' in told ? told : dataOf({ nested: { ...nested, data: undefined } })
}

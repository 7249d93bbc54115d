import type { MeasuringSetting, Settings } from '../settings/read.ts'
import { type ErrorCode, HubError, type HubErrorDetails } from '../wire/errors.ts'
import { isQueueName } from '../wire/keys.ts'
import { namesOf, wrongOptions, wrongWait } from '../wire/options.ts'
import type { CallPhases } from '../wire/phases.ts'
import type { Progress } from '../wire/stream.ts'

/** Options of a hub; omitted settings come from the environment or their defaults. */
export type HubOptions = Partial<
  Pick<Settings, 'redis' | 'namespace' | 'name' | 'maxPayloadBytes' | 'bigint' | 'maxBacklog' | MeasuringSetting>
>

/** Options of a call. */
export interface CallOptions<P extends boolean = boolean> {
  /** Maximum wait of the caller. Default: the `timeoutMs` of the task. */
  timeoutMs?: number
  /** Call only workers of this queue. Default: the first queue of the task while it has live workers, otherwise another one. */
  queue?: string | undefined
  /** Aborting it ends the wait with Aborted. */
  signal?: AbortSignal
  /** W3C trace context to pass on. Default: that of the caller's active OpenTelemetry span. */
  traceparent?: string | undefined
  /** Sent along with traceparent; omitted if it is longer than 512 characters. */
  tracestate?: string | undefined
  /** True: resolve to the result and the time of each part of the wait. Default false. */
  phases?: P
  /** Receives the progress that the handler reports with `ctx.progress`, at most about four times a second. */
  onProgress?: ((progress: Progress) => void) | undefined
}

export const callOptionNames = namesOf<CallOptions>({
  timeoutMs: true,
  queue: true,
  signal: true,
  traceparent: true,
  tracestate: true,
  phases: true,
  onProgress: true,
})

/** The result of a call with `phases: true`. `phases` is undefined if the worker reported none. */
export interface WithPhases<R = unknown> {
  result: R
  phases: CallPhases | undefined
}

/** What a call resolves to, for its result and whether `phases` were asked for. */
export type Answer<R, P extends boolean> = P extends true ? WithPhases<R> : R

/** What makes a call impossible before anything is looked up; undefined when nothing does. */
export const wrongCall = (called: string, options: CallOptions): HubError | undefined => {
  if (typeof called !== 'string')
    return new HubError('NoSuchTask', 'The task must be a name like my_task:1.0, or what defineTask returned.')
  const wrong = wrongOptions(options, callOptionNames)
  if (wrong !== undefined) return refusal(called, 'InvalidArgs', `call ${called}: ${wrong}`)
  const { timeoutMs, signal, queue, onProgress } = options
  if (onProgress !== undefined && typeof onProgress !== 'function')
    return refusal(called, 'InvalidArgs', `call ${called}: onProgress must be a function, not ${typeof onProgress}.`)
  if (queue !== undefined && !isQueueName(queue)) {
    const given = typeof queue === 'string' ? `'${(queue as string).slice(0, 80)}'` : typeof queue
    return refusal(called, 'InvalidArgs', `queue must be the name of a queue, not ${given}.`)
  }
  const wrongly = wrongWait(options)
  if (wrongly !== undefined) return refusal(called, 'InvalidArgs', `call ${called}: ${wrongly}`)
  // A nested call whose time is up comes here with 0; it certainly was not sent.
  if (timeoutMs !== undefined && timeoutMs <= 0) return refusal(called, 'Expired', `No time is left to call ${called}.`)
  if (signal?.aborted)
    return refusal(called, 'Aborted', `The signal was aborted before ${called} was called.`, {
      ran: 'no',
      cause: signal.reason,
    })
  return undefined
}

/** Of what was not sent. */
export const refusal = (task: string, code: ErrorCode, message: string, details?: HubErrorDetails) =>
  new HubError(code, message, { task, ...details })

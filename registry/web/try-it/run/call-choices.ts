/** How a call is made, besides its arguments. */
export interface CallChoices {
  /** Undefined: the task's own. */
  timeoutMs: number | undefined
  /** Undefined: first queue of the task, while it has workers. */
  queue: string | undefined
  /** W3C trace context; empty: none. */
  traceparent: string
  tracestate: string
}

export const noCallChoices: CallChoices = { timeoutMs: undefined, queue: undefined, traceparent: '', tracestate: '' }

const traceparentPattern = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/
const longestTracestate = 512

/** Why these cannot be sent; undefined when they can. */
export const wrongChoices = ({ traceparent, tracestate }: CallChoices): string | undefined => {
  if (traceparent !== '' && !traceparentPattern.test(traceparent))
    return 'A traceparent is 00-, 32 hexadecimal digits, -, 16 more, and -01.'
  if (tracestate === '') return undefined
  if (traceparent === '') return 'A tracestate needs a traceparent.'
  if (tracestate.length > longestTracestate || !/^[\x20-\x7e]*$/.test(tracestate))
    return `A tracestate has at most ${longestTracestate} characters of ASCII.`
  return undefined
}

/** The headers that the gateway takes for it. */
export const headersOf = ({ timeoutMs, queue, traceparent, tracestate }: CallChoices): Record<string, string> => ({
  ...(timeoutMs === undefined ? {} : { 'pshub-timeout-ms': String(timeoutMs) }),
  ...(queue === undefined ? {} : { 'pshub-queue': queue }),
  ...(traceparent === '' ? {} : { traceparent }),
  ...(tracestate === '' ? {} : { tracestate }),
})

/** Of a trace that begins here. */
export const newTraceparent = (): string => `00-${randomHex(16)}-${randomHex(8)}-01`

const randomHex = (bytes: number): string =>
  [...crypto.getRandomValues(new Uint8Array(bytes))].map(byte => byte.toString(16).padStart(2, '0')).join('')

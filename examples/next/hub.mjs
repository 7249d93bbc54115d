import { Hub, HubError } from 'pshub'

/** One for the process: all requests share it, and `next dev`, which loads this file again after each change. */
export const hub = () => {
  globalThis.pshubHub ??= start()
  return globalThis.pshubHub
}

const start = () => {
  const hub = new Hub({ name: 'next' })
  // Next.js ends the process by itself; until then this says goodbye to Redis.
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => hub.close())
  return hub
}

/** The response that fits the error of a call. What is no HubError is a mistake in this code, and left to Next.js. */
export const answerOf = error => {
  if (!(error instanceof HubError)) throw error
  const { code, message, status, retryable, data } = error
  const headers = retryable ? { 'retry-after': String(secondsToWait(data)) } : {}
  return Response.json({ code, message, data }, { status, headers })
}

/** Some errors say how long it takes until a further try may be worth it, in milliseconds. */
const secondsToWait = data => Math.max(1, Math.ceil((data?.retryAfterMs ?? data?.waitMs ?? 0) / 1000))

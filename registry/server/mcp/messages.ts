import { isObject } from './schema-parts.ts'

/** What a body has to say, as far as it matters before the SDK reads it, which takes no longer ones. */
export interface Told {
  /** Ids of runs that are to begin. */
  calls: (string | number)[]
  /** Ids of requests that nobody waits for any more. */
  cancelled: (string | number)[]
  isBeginning: boolean
  /** Without any other message. */
  isAlone: boolean
}

const maxMessages = 100

/** Bodies are one message of JSON-RPC, or a list of them. */
export const toldIn = (body: unknown): Told => {
  const messages = (Array.isArray(body) ? body.slice(0, maxMessages) : [body]).filter(isObject)
  const ids = (method: string, idOf: (message: Record<string, unknown>) => unknown) =>
    messages
      .filter(message => message.method === method)
      .map(idOf)
      .filter(isId)
  return {
    calls: ids('tools/call', ({ id }) => id),
    cancelled: ids('notifications/cancelled', ({ params }) => (isObject(params) ? params.requestId : undefined)),
    isBeginning: messages.some(({ method }) => method === 'initialize'),
    isAlone: messages.length === 1,
  }
}

const isId = (id: unknown): id is string | number => typeof id === 'string' || typeof id === 'number'

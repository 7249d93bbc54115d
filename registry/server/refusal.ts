import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { ConfigError, HubError } from 'pshub'
import type { ApiError } from '../contract.ts'

type Code = ApiError['error']['code']

/** A request that is not served; its message is for whoever sent it. */
export class Refusal extends Error {
  readonly status: number
  readonly code: Code
  readonly headers: Readonly<Record<string, string>>

  constructor(status: number, code: Code, message: string, headers: Record<string, string> = {}) {
    super(message)
    this.status = status
    this.code = code
    this.headers = headers
  }
}

/** Codes of what fastify itself refuses. */
const codes: Record<number, Code> = {
  404: 'NotFound',
  413: 'PayloadTooLarge',
  415: 'UnsupportedMediaType',
  429: 'TooManyRequests',
}

/** What is said of an error, and with which status. Only what is meant for the sender is: no stack, no message of a fault. */
export const toldOf = (thrown: unknown): { status: number; error: ApiError['error'] } => {
  if (thrown instanceof Refusal) return { status: thrown.status, error: { code: thrown.code, message: thrown.message } }
  if (thrown instanceof HubError) {
    const { code, message, ran, retryable } = thrown
    return { status: thrown.status, error: { code, message, ran, retryable } }
  }
  const { statusCode = 500, message } = (thrown ?? {}) as Partial<FastifyError>
  if (statusCode < 400 || statusCode >= 500 || thrown instanceof ConfigError)
    return { status: 500, error: { code: 'Internal', message: 'The registry failed; see its log.' } }
  return { status: statusCode, error: { code: codes[statusCode] ?? 'BadRequest', message: message ?? 'Bad request.' } }
}

/** The plugin's error handler: every answer is an ApiError. */
export const sendError = (thrown: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
  const { status, error } = toldOf(thrown)
  if (status === 500) request.log.error({ err: thrown }, 'the registry failed to answer')
  if (thrown instanceof Refusal) reply.headers(thrown.headers)
  return reply.code(status).type('application/json; charset=utf-8').send({ error })
}

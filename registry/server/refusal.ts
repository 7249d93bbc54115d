import { STATUS_CODES } from 'node:http'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { ConfigError, stringifyExact } from 'pshub'
import { problemOf } from 'pshub/http'
import type { ApiError } from '../contract.ts'

type Code = ApiError['code']

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

/** An answer that says what went wrong. */
interface Problem {
  status: number
  headers: Record<string, string>
  body: ApiError
}

/** Of what the registry itself refuses. */
const ownProblem = (status: number, code: Code, detail: string, headers: Record<string, string> = {}): Problem => ({
  status,
  headers: { 'content-type': 'application/problem+json', ...headers },
  body: { title: STATUS_CODES[status] ?? code, status, detail, code },
})

/** The answer to an error. Only what is meant for the sender is in it: no stack, no message of a fault. */
export const answerTo = (thrown: unknown): Problem => {
  const problem = problemOf(thrown, { detailed: true })
  if (problem) return problem as Problem
  if (thrown instanceof Refusal) return ownProblem(thrown.status, thrown.code, thrown.message, thrown.headers)
  const { statusCode = 500, message } = (thrown ?? {}) as Partial<FastifyError>
  if (statusCode < 400 || statusCode >= 500 || thrown instanceof ConfigError)
    return ownProblem(500, 'Internal', 'The registry failed; see its log.')
  return ownProblem(statusCode, codes[statusCode] ?? 'BadRequest', message ?? 'Bad request.')
}

/** The error handler: every answer is an ApiError. */
export const sendError = (thrown: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
  const { status, headers, body } = answerTo(thrown)
  if (body.code === 'Internal') request.log.error({ err: thrown }, 'the registry failed to answer')
  return reply.code(status).headers(headers).send(stringifyExact(body))
}

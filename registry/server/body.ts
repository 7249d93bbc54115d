import type { FastifyInstance, FastifyRequest } from 'fastify'
import { parseExact } from 'pshub'

const texts = new WeakMap<FastifyRequest, string>()

/**
 * Bodies are JSON and nothing else, whatever the server that we are mounted in takes. Keys that pollute prototypes are refused;
 * an empty body is undefined.
 */
export const takeJson = (app: FastifyInstance, maxBodyBytes: number): void => {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<string>(
    'application/json',
    { parseAs: 'string', bodyLimit: maxBodyBytes },
    (request, body, done) => {
      if (body === '') return done(null, undefined)
      texts.set(request, body)
      return parse(request, body, done)
    },
  )
}

/** The body of a request with its numbers as they were sent: where it has arguments, which are passed on. */
export const exactBody = (request: FastifyRequest): unknown => {
  const text = texts.get(request)
  return text === undefined ? request.body : parseExact(text)
}

/** The same of the field `args` of a body. */
export const exactArgs = (request: FastifyRequest): unknown => (exactBody(request) as { args?: unknown }).args

import type { FastifyInstance } from 'fastify'

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
      if (body === '') done(null, undefined)
      else parse(request, body, done)
    },
  )
}

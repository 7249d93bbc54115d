import { type Server, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import fastify, { type FastifyInstance, type FastifyReply, LogController } from 'fastify'
import type { Logger } from 'pshub'
import type { Proxies } from './proxies.ts'
import { answerTo, Refusal, sendError } from './refusal.ts'
import { securityHeaders } from './response-headers.ts'

/** A fastify instance that is the registry's alone. */
export const makeServer = (proxies: Proxies, log: Logger): FastifyInstance => {
  const app = fastify<Server>({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }),
    forceCloseConnections: true,
    // Charts are read first, and Redis may be busy or far.
    pluginTimeout: 60_000,
    // Who asks is the last address of X-Forwarded-For that is no proxy of ours; what stands before it was sent by whom it names.
    trustProxy: address => proxies.has(address),
    requestTimeout: 30_000,
    frameworkErrors: (_error, request, reply) =>
      void sendError(new Refusal(400, 'BadRequest', 'This address cannot be read.'), request, withHeaders(reply)),
    clientErrorHandler: answerNoHttp,
  })
  app.addHook('onRequest', async (_request, reply) => void withHeaders(reply))
  app.setErrorHandler(sendError)
  return app
}

const withHeaders = (reply: FastifyReply): FastifyReply => reply.headers(securityHeaders)

/** What is not HTTP, or has too many headers. */
const answerNoHttp = (error: NodeJS.ErrnoException, socket: Socket): void => {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
  const status = error.code === 'HPE_HEADER_OVERFLOW' ? 431 : 400
  const answer = answerTo(new Refusal(status, 'BadRequest', 'This request cannot be read.'))
  const body = JSON.stringify(answer.body)
  const headers = Object.entries({
    ...securityHeaders,
    ...answer.headers,
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
  })
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`,
  )
}

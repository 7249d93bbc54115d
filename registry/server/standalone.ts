import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import fastify, { type FastifyInstance, type FastifyReply, LogController } from 'fastify'
import { type Logger, makeLogger, readSettings, type Settings } from 'pshub'
import { addRegistry, type RegistryOptions } from './plugin.ts'
import { Proxies } from './proxies.ts'
import { Refusal, sendError } from './refusal.ts'
import { securityHeaders } from './response-headers.ts'
import { newToken } from './tokens.ts'

/** `host`, `port` and `basePath` say where. Without any token an admin's is made. */
export interface StandaloneOptions
  extends RegistryOptions,
    Partial<Pick<Settings, 'host' | 'port' | 'basePath' | 'logLevel' | 'logFormat'>> {}

export interface RunningRegistry {
  /** Where it can be reached, with its base path. */
  url: string
  /** The admin's token, if none was given. */
  token: string | undefined
  /** Logs an admin in once, within a quarter of an hour, if no token was given: for an address to open. */
  code: string | undefined
  close(): Promise<void>
}

/**
 * The registry as a server of its own.
 * @throws ConfigError; what the system says of an address that cannot be had
 */
export const startRegistry = async ({ hub, ...options }: StandaloneOptions = {}): Promise<RunningRegistry> => {
  const { host, port, basePath, ...setup } = readSettings('registry', { options: { ...options }, env: process.env })
  // Where users log in elsewhere nobody needs a token.
  const hasWay = setup.viewToken ?? setup.runToken ?? setup.adminToken ?? setup.userHeader ?? setup.oidcIssuer
  const token = hasWay === undefined ? newToken() : undefined
  const code = token === undefined ? undefined : newToken()
  const app = makeServer(new Proxies(setup.behindProxy), makeLogger(setup))
  const given = {
    ...options,
    ...(hub === undefined ? {} : { hub }),
    ...(token === undefined ? {} : { adminToken: token }),
  }
  const { host: _host, port: _port, basePath: _basePath, ...rest } = given
  const allowedHosts = [...setup.allowedHosts, ...(isName(host) ? [host] : [])]
  const prefix = basePath.replace(/\/$/, '')
  app.register(instance => addRegistry(instance, { ...rest, allowedHosts }, true, code), { prefix })
  const address = await app.listen({ host, port }).catch(async error => {
    await app.close()
    throw error
  })
  return { url: `${address}${prefix}/`, token, code, close: () => app.close() }
}

/** Not one that stands for all addresses of the machine. */
const isName = (host: string): boolean => host !== '0.0.0.0' && host !== '::'

const makeServer = (proxies: Proxies, log: Logger): FastifyInstance => {
  const app = fastify<Server>({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }),
    forceCloseConnections: true,
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
  const status = error.code === 'HPE_HEADER_OVERFLOW' ? '431 Request Header Fields Too Large' : '400 Bad Request'
  const body = JSON.stringify({ error: { code: 'BadRequest', message: 'This is not a request that can be read.' } })
  const headers = Object.entries({
    ...securityHeaders,
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
  })
  socket.end(`HTTP/1.1 ${status}\r\n${headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`)
}

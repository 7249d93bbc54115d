import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { makeLogger, readSettings, type Settings } from 'pshub'
import { makeServer } from './own-server.ts'
import { addRegistry, type RegistryOptions } from './plugin.ts'
import { Proxies } from './proxies.ts'
import { Refusal } from './refusal.ts'

/** `basePath` is where browsers find it: the path that it is mounted at. At least one token is needed. */
export interface HandlerOptions
  extends RegistryOptions,
    Partial<Pick<Settings, 'basePath' | 'logLevel' | 'logFormat'>> {}

/** Answers every request that it is given: for `app.use` of Express, and the listener of a server of `node:http`. */
export interface RegistryHandler {
  (request: IncomingMessage, response: ServerResponse): void
  /** Ends its live pages, and its connection to Redis. To be called before the server is closed, which waits for these pages. */
  close(): Promise<void>
}

/**
 * The registry for a server that is not fastify's. It takes addresses whole, and those whose beginning was taken off on the way, as Express does.
 * @throws ConfigError
 */
export const registryHandler = async (options: HandlerOptions = {}): Promise<RegistryHandler> => {
  const { hub: _hub, notice: _notice, ...own } = options
  const setup = readSettings('registry', { options: own, env: process.env })
  const prefix = setup.basePath.replace(/\/$/, '')
  const app = makeServer(new Proxies(setup.behindProxy), makeLogger(setup))
  app.addHook('onRequest', refuseReadBody)
  const { basePath: _, ...rest } = options
  app.register(instance => addRegistry(instance, rest, true), { prefix })
  try {
    await app.ready()
  } catch (error) {
    await app.close()
    throw error
  }
  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    request.url = wholeAddress(prefix, request)
    app.routing(request, response)
  }
  return Object.assign(handle, { close: () => app.close() })
}

/** Express and its like keep the whole address beside the rest that is left of it. */
const wholeAddress = (prefix: string, request: IncomingMessage & { originalUrl?: string }): string => {
  const { url = '/', originalUrl } = request
  const whole = originalUrl ?? url
  const isWhole = whole.startsWith(prefix) && /^([/?]|$)/.test(whole.slice(prefix.length))
  return isWhole ? whole : prefix + url
}

/** Else it would be waited for until the client goes. */
const refuseReadBody = async ({ raw, method }: FastifyRequest): Promise<void> => {
  if (!raw.readableEnded || method === 'GET' || method === 'HEAD') return
  throw new Refusal(
    500,
    'Internal',
    'Another middleware has already read the body of this request: mount the registry before body parsers such as express.json().',
  )
}

import fastify from 'fastify'
import { type RegistryOptions, registry } from './plugin.ts'

export interface StandaloneOptions extends RegistryOptions {
  /** Default 127.0.0.1. */
  host?: string
  /** 0 takes a free one. Default 7421. */
  port?: number
  /** Where it is mounted. Default /. */
  basePath?: string
}

export interface RunningRegistry {
  /** Where it can be reached, with its base path. */
  url: string
  close(): Promise<void>
}

/** The registry as a server of its own. */
export const startRegistry = async (options: StandaloneOptions = {}): Promise<RunningRegistry> => {
  const { host = '127.0.0.1', port = 7421, basePath = '/', ...rest } = options
  const app = fastify({ forceCloseConnections: true })
  await app.register(registry, { ...rest, prefix: basePath.replace(/\/+$/, '') })
  const address = await app.listen({ host, port })
  return { url: `${address}${basePath}`, close: () => app.close() }
}

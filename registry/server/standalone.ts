import { makeLogger, readSettings, type Settings } from 'pshub'
import { makeServer } from './own-server.ts'
import { addRegistry, type RegistryOptions } from './plugin.ts'
import { Proxies } from './proxies.ts'
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
export const startRegistry = async ({ hub, notice, ...options }: StandaloneOptions = {}): Promise<RunningRegistry> => {
  const { host, port, basePath, ...setup } = readSettings('registry', { options: { ...options }, env: process.env })
  // Where users log in elsewhere nobody needs a token.
  const hasWay = setup.viewToken ?? setup.runToken ?? setup.adminToken ?? setup.userHeader ?? setup.oidcIssuer
  const token = hasWay === undefined ? newToken() : undefined
  const code = token === undefined ? undefined : newToken()
  const app = makeServer(new Proxies(setup.behindProxy), makeLogger(setup))
  const given = {
    ...options,
    ...(hub === undefined ? {} : { hub }),
    ...(notice === undefined ? {} : { notice }),
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

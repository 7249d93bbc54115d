import { isIP } from 'node:net'
import type { Settings } from '../settings/read.ts'
import { ConfigError } from '../wire/errors.ts'
import type { Output } from './output.ts'
import type { RunningService } from './registry-package.ts'

const reasons: Record<string, string> = {
  EADDRINUSE: 'is taken; choose another --port, or 0 for a free one',
  EACCES: 'needs rights that this user does not have; choose a --port above 1023',
  EADDRNOTAVAIL: 'is not an address of this machine; see --host',
  ENOTFOUND: 'is unknown; see --host',
}

/** What the system says of an address that cannot be had, with what to do. */
export const explained = (error: NodeJS.ErrnoException, { host, port }: Readonly<Settings>): Error => {
  const reason = reasons[error.code ?? '']
  return reason === undefined ? error : new ConfigError(`${host} port ${port} ${reason}.`)
}

/** Where it is, how to log in, and what is to be known about that. */
export const tell = (
  { url, token, code }: RunningService,
  settings: Readonly<Settings>,
  { out, err }: Output,
): void => {
  const { readOnly, behindProxy, host } = settings
  // What follows # stays in the browser: no server and no log sees it.
  out.line(`Registry: ${code === undefined ? url : `${url}#token=${code}`}`)
  const { userHeader, oidcIssuer } = settings
  if (oidcIssuer !== undefined)
    out.line(`Users log in at ${oidcIssuer}, which must allow the redirect address <here>/login/callback.`)
  if (userHeader !== undefined) out.line(`The proxies pass the user in ${userHeader}.`)
  if (token !== undefined || rolesOf(settings) !== '')
    out.line(
      token === undefined
        ? `Tokens are set for ${rolesOf(settings)}.`
        : `The address logs in once, within 15 minutes. Admin token, valid until it stops: ${token}`,
    )
  if (readOnly) out.line('The registry is read-only: nobody can run or change anything.')
  if (isLoopback(host) || behindProxy.length > 0) return
  err.line(err.paint(['bold', 'red'], `WARNING: other machines can reach it (${host}), without TLS:`))
  err.line('others can read tokens, arguments and results on the network. Use a proxy with TLS and set')
  err.line('--behind-proxy and --allowed-hosts, or bind 127.0.0.1.')
}

const rolesOf = ({ viewToken, runToken, adminToken }: Readonly<Settings>): string =>
  Object.entries({ view: viewToken, run: runToken, admin: adminToken })
    .filter(([, token]) => token !== undefined)
    .map(([role]) => role)
    .join(', ')

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))

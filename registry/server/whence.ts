import type { FastifyRequest } from 'fastify'
import type { Proxies } from './proxies.ts'

/** Where a request came to, as the browser saw it. */
export interface Whence {
  /** As sent, with its port. */
  host: string
  isHttps: boolean
}

/** Proxies append to these headers; the last part is the one of the proxy in front of us. */
const lastOf = (header: string | string[] | undefined): string | undefined =>
  String(header ?? '')
    .split(',')
    .at(-1)!
    .trim() || undefined

export const whenceOf = ({ headers, socket }: FastifyRequest, proxies: Proxies): Whence => {
  const behindProxy = proxies.has(socket.remoteAddress)
  const forwarded = behindProxy ? lastOf(headers['x-forwarded-host']) : undefined
  const protocol = behindProxy ? lastOf(headers['x-forwarded-proto']) : undefined
  return {
    host: forwarded ?? headers.host ?? '',
    isHttps: protocol === undefined ? 'encrypted' in socket && socket.encrypted === true : protocol === 'https',
  }
}

/** Every name of a host that a request gives: behind a proxy there can be two, of which a page could choose one. */
export const hostsGiven = ({ headers, socket }: FastifyRequest, proxies: Proxies): string[] => [
  headers.host ?? '',
  ...(proxies.has(socket.remoteAddress) && headers['x-forwarded-host'] !== undefined
    ? String(headers['x-forwarded-host'])
        .split(',')
        .map(host => host.trim())
    : []),
]

/** Without its port, in lower case; an IPv6 address in its brackets. Undefined for what is no host. */
export const nameOf = (host: string): string | undefined =>
  /^(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(:\d{1,5})?$/.exec(host.toLowerCase())?.[1]

/** Of a Host header; what it leaves out is the scheme's. */
export const portOf = ({ host, isHttps }: Whence): string => /:(\d{1,5})$/.exec(host)?.[1] ?? (isHttps ? '443' : '80')

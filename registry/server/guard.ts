import type { FastifyRequest } from 'fastify'
import type { Proxies } from './proxies.ts'
import { Refusal } from './refusal.ts'
import { hostsGiven, nameOf, whenceOf } from './whence.ts'

export interface GuardOptions {
  /** Names of hosts, besides those of this machine itself. */
  allowedHosts: readonly string[]
  proxies: Proxies
}

const loopback = ['127.0.0.1', 'localhost', '[::1]']
const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS'])

export const isSafe = (method: string): boolean => safeMethods.has(method)

/** Refuses what a page of another site could make a browser send. It holds for all requests, whoever sends them. */
export class Guard {
  readonly #hosts: ReadonlySet<string>
  readonly #proxies: Proxies

  constructor({ allowedHosts, proxies }: GuardOptions) {
    this.#hosts = new Set([...loopback, ...allowedHosts.flatMap(namesOf)])
    this.#proxies = proxies
  }

  /** A site can point its own name at this address (DNS rebinding); its pages then count as ours, but for their name. */
  checkHost(request: FastifyRequest): void {
    for (const host of hostsGiven(request, this.#proxies)) {
      const name = nameOf(host)
      if (name !== undefined && this.#hosts.has(name)) continue
      const shown = JSON.stringify(host.slice(0, 100))
      throw new Refusal(421, 'WrongHost', `The registry does not answer to the host ${shown}; see allowedHosts.`)
    }
  }

  /** @param isPage also other sites may lead to a page, as long as it is only looked at */
  checkOrigin(request: FastifyRequest, isPage: boolean): void {
    if (isPage && isSafe(request.method)) return
    const { origin, 'sec-fetch-site': site } = request.headers
    if (site !== undefined && site !== 'same-origin' && site !== 'none')
      throw new Refusal(403, 'Forbidden', 'Requests of other sites are refused.')
    if (origin !== undefined && originHost(origin) !== whenceOf(request, this.#proxies).host.toLowerCase())
      throw new Refusal(403, 'Forbidden', 'Requests of other origins are refused.')
  }

  /** A cookie goes along with requests that its owner never meant; so it takes a browser's word that this one is of our pages. */
  checkCookieUse({ method, headers }: FastifyRequest): void {
    if (isSafe(method) || headers['sec-fetch-site'] === 'same-origin') return
    if (headers['sec-fetch-site'] === undefined && headers.origin !== undefined) return
    throw new Refusal(
      403,
      'Forbidden',
      'With a cookie only the pages of the registry may do this; send a bearer token.',
    )
  }
}

/** IPv6 addresses may be set without their brackets. */
const namesOf = (host: string): string[] => {
  const name = nameOf(host) ?? nameOf(`[${host}]`)
  return name === undefined ? [] : [name]
}

const originHost = (origin: string): string | undefined => /^https?:\/\/([^/?#@\s]+)$/.exec(origin.toLowerCase())?.[1]

/** Forms of other sites can send anything else. */
export const checkJson = ({ method, headers }: FastifyRequest): void => {
  if (isSafe(method)) return
  // Which no form sends, and a script of another site only after it was allowed to.
  if (method === 'DELETE' && headers['content-length'] === undefined && headers['transfer-encoding'] === undefined)
    return
  const type = String(headers['content-type'] ?? '')
  if (/^application\/json\s*(;|$)/i.test(type)) return
  throw new Refusal(415, 'UnsupportedMediaType', 'Send JSON, with the header content-type: application/json.')
}

import type { FastifyRequest } from 'fastify'
import type { Proxies } from './proxies.ts'
import { Refusal } from './refusal.ts'
import type { Rules } from './rules.ts'
import { type Identity, keyOf, type User } from './tokens.ts'

export interface ProxyHeaders {
  userHeader: string | undefined
  groupsHeader: string | undefined
}

const unauthorized = (message: string): Refusal => new Refusal(401, 'Unauthorized', message)

/** What names users and groups: a text of 1 to 256 characters, none of which controls anything. */
export const isUserName = (value: unknown): value is string =>
  typeof value === 'string' && /^[^\p{Cc}]{1,256}$/u.test(value) && value.trim() === value

/** Who asks, by the word of a proxy that they logged in at. Only the peer of the connection counts: what it says of others before it does not. */
export class ProxyUsers {
  readonly #user: string | undefined
  readonly #groups: string | undefined
  readonly #proxies: Proxies
  readonly #rules: Rules

  constructor({ userHeader, groupsHeader }: ProxyHeaders, proxies: Proxies, rules: Rules) {
    this.#user = userHeader?.toLowerCase()
    this.#groups = groupsHeader?.toLowerCase()
    this.#proxies = proxies
    this.#rules = rules
  }

  /**
   * Undefined: nothing is said of a user.
   * @throws Refusal where it is said by anybody else, or twice, or of nobody, or of somebody without a role
   */
  find({ raw }: FastifyRequest): Identity | undefined {
    if (this.#user === undefined) return undefined
    const [users, groups] = [valuesOf(raw.rawHeaders, this.#user), valuesOf(raw.rawHeaders, this.#groups)]
    if (users.length + groups.length === 0) return undefined
    if (!this.#proxies.has(raw.socket.remoteAddress))
      throw new Refusal(403, 'Forbidden', 'Only a proxy in behindProxy may set the user header.')
    if (users.length === 0) return undefined
    if (users.length > 1 || groups.length > 1)
      throw unauthorized(
        'The proxy sent the user header more than once: configure it to replace these headers, not to append to them.',
      )
    const name = textOf(users[0]!)
    if (!isUserName(name)) throw unauthorized('The proxy sent no valid user name.')
    return identityOf({ name, groups: namesIn(groups[0]) }, this.#rules)
  }
}

const identityOf = (user: User, rules: Rules): Identity => {
  const role = rules.roleOf(user)
  if (!role) throw new Refusal(403, 'Forbidden', noRole)
  const key = keyOf(`user ${user.name}`)
  return { role, key, token: key, user, by: 'proxy' }
}

const noRole = 'You are logged in, but have no role in this registry. Ask its administrator for one.'

/** As they came, one behind the other: joined, two values could pass for one. */
const valuesOf = (rawHeaders: readonly string[], name: string | undefined): string[] =>
  rawHeaders.flatMap((header, at) => (at % 2 === 0 && header.toLowerCase() === name ? [rawHeaders[at + 1]!] : []))

/** Headers come as bytes; undefined for what is no UTF-8. */
const textOf = (value: string): string | undefined => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(value, 'latin1'))
  } catch {
    return undefined
  }
}

const namesIn = (value: string | undefined): string[] => {
  const text = value === undefined ? '' : textOf(value)
  if (text === undefined) throw unauthorized('The proxy sent no valid group names.')
  return text
    .split(',')
    .map(name => name.trim())
    .filter(isUserName)
}

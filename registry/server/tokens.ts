import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { ConfigError } from 'pshub'
import { type Role, roles } from '../contract.ts'

export type Tokens = Readonly<Partial<Record<Role, string | undefined>>>

/** Somebody whom a proxy or a provider knows. */
export interface User {
  name: string
  groups: readonly string[]
}

/** Who makes a request. */
export interface Identity {
  role: Role
  /** Tells sessions and tokens apart in the log, and gives none away. */
  key: string
  /** The key of the token that it is, or that its session was begun with; of a user, of their name. What one may cost is counted by it. */
  token: string
  /** The role of that token, whoever shows it. */
  tokenRole?: Role
  /** Who it is, by the word of a proxy or of a provider. */
  user?: User
  /** Which of these said it; undefined: a token was shown. */
  by?: 'proxy' | 'provider'
  /** Of a session: what its browser keeps, and its end, milliseconds since 1970. */
  session?: string
  untilMs?: number
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
/** Digests have one length, so that the comparison takes the same time whatever differs. */
const equal = (a: string, b: string): boolean => timingSafeEqual(digest(a), digest(b))

/** Of this process alone: a short digest of a weak token could be searched for in a log otherwise. */
const salt = randomBytes(16).toString('hex')
export const keyOf = (secret: string): string => digest(`${salt} ${secret}`).toString('hex').slice(0, 8)

/** How long a code may be used, and that only once. */
const codeMs = 15 * 60_000

/** What tokens allow, and codes in their place. */
export class TokenBook {
  readonly #tokens: [Role, string][]
  readonly #codes = new Map<string, { role: Role; untilMs: number }>()

  /** @param others there are other ways in @throws ConfigError without any, or when two roles have the same token */
  constructor(tokens: Tokens, others = false) {
    this.#tokens = roles.flatMap(role => (tokens[role] === undefined ? [] : [[role, tokens[role]] as [Role, string]]))
    if (this.#tokens.length === 0 && !others)
      throw new ConfigError('The registry needs a token: set viewToken, runToken or adminToken.')
    if (new Set(this.#tokens.map(([, token]) => token)).size < this.#tokens.length)
      throw new ConfigError('Tokens of different roles must differ.')
  }

  get areThere(): boolean {
    return this.#tokens.length > 0
  }

  of(role: Role): string | undefined {
    return this.#tokens.find(([known]) => known === role)?.[1]
  }

  /** Every token is looked at, so that the time tells nothing of which one was nearly right. */
  byToken(given: string): Identity | undefined {
    let found: Identity | undefined
    for (const [role, token] of this.#tokens)
      if (equal(given, token)) found = { role, tokenRole: role, key: keyOf(token), token: keyOf(token) }
    return found
  }

  /** Logs in once, in the place of the role's token. */
  addCode(code: string, role: Role, nowMs: number): void {
    this.#codes.set(code, { role, untilMs: nowMs + codeMs })
  }

  byCode(given: string, nowMs: number): Identity | undefined {
    for (const [code, { role, untilMs }] of this.#codes) {
      if (!equal(given, code)) continue
      this.#codes.delete(code)
      return untilMs > nowMs ? this.byToken(this.of(role) ?? '') : undefined
    }
    return undefined
  }
}

/** What somebody in this role may do includes what the role asks for. */
export const includes = (role: Role, needed: Role): boolean => roles.indexOf(role) >= roles.indexOf(needed)

export const newToken = (): string => randomBytes(24).toString('base64url')

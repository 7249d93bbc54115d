import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { ConfigError } from 'pshub'
import { type Role, roles } from '../contract.ts'

export type Tokens = Readonly<Partial<Record<Role, string | undefined>>>

/** Who makes a request. */
export interface Identity {
  role: Role
  /** Tells sessions and tokens apart in the log, and gives none away. */
  key: string
  /** End of the session, milliseconds since 1970; a token has none. */
  untilMs?: number
}

export const sessionMs = 12 * 3600_000
/** Sessions that were logged out are remembered until they would have ended, so many at most. */
const maxEnded = 10_000

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
/** Digests have one length, so that the comparison takes the same time whatever differs. */
const equal = (a: string, b: string): boolean => timingSafeEqual(digest(a), digest(b))
const keyOf = (secret: string): string => digest(`key of ${secret}`).toString('hex').slice(0, 8)

/**
 * What tokens and sessions allow. A session is a text that says role and end, signed with a secret that comes from the tokens: it
 * outlives a restart of the service, and ends when a token is changed.
 */
export class TokenBook {
  readonly #tokens: [Role, string][]
  readonly #secret: Buffer
  readonly #ended = new Map<string, number>()

  /** @throws ConfigError without any token, or when two roles have the same */
  constructor(tokens: Tokens) {
    this.#tokens = roles.flatMap(role => (tokens[role] === undefined ? [] : [[role, tokens[role]] as [Role, string]]))
    if (this.#tokens.length === 0)
      throw new ConfigError('The registry needs a token: set viewToken, runToken or adminToken.')
    if (new Set(this.#tokens.map(([, token]) => token)).size < this.#tokens.length)
      throw new ConfigError('Tokens of different roles must differ.')
    this.#secret = digest(`pshub registry sessions ${JSON.stringify(this.#tokens)}`)
  }

  /** Every token is looked at, so that the time tells nothing of which one was nearly right. */
  byToken(given: string): Identity | undefined {
    let found: Identity | undefined
    for (const [role, token] of this.#tokens) if (equal(given, token)) found = { role, key: keyOf(token) }
    return found
  }

  startSession(role: Role, nowMs: number): string {
    const body = `${role}.${nowMs + sessionMs}.${randomBytes(9).toString('base64url')}`
    return `${body}.${this.#sign(body)}`
  }

  bySession(text: string, nowMs: number): Identity | undefined {
    const match = /^((view|run|admin)\.(\d{1,15})\.[\w-]{12})\.([\w-]{43})$/.exec(text)
    if (!match || !equal(match[4]!, this.#sign(match[1]!))) return undefined
    const untilMs = Number(match[3])
    if (untilMs <= nowMs || this.#ended.has(match[4]!)) return undefined
    return { role: match[2] as Role, key: keyOf(text), untilMs }
  }

  /** The session is over, also for whoever has a copy of it. */
  endSession(text: string, nowMs: number): void {
    const identity = this.bySession(text, nowMs)
    if (!identity) return
    for (const [signature, untilMs] of this.#ended)
      if (untilMs <= nowMs || this.#ended.size >= maxEnded) this.#ended.delete(signature)
    this.#ended.set(text.slice(text.lastIndexOf('.') + 1), identity.untilMs!)
  }

  #sign(body: string): string {
    return createHmac('sha256', this.#secret).update(body).digest('base64url')
  }
}

/** What somebody in this role may do includes what the role asks for. */
export const includes = (role: Role, needed: Role): boolean => roles.indexOf(role) >= roles.indexOf(needed)

export const newToken = (): string => randomBytes(24).toString('base64url')

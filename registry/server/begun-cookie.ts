import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import type { Begun } from './provider.ts'

/** A log-in that was begun here, and where it is to lead. */
export interface BegunLogin extends Begun {
  back: string
  untilMs: number
}

/** What is signed is used up by whoever began it, within this. */
export const begunMs = 10 * 60_000

/** The text that a browser keeps while its user is at the provider: signed, so that it says what was said here. */
export class BegunCookie {
  readonly #key: Buffer

  /** @param secret all registries have that could be asked next */
  constructor(secret: string) {
    this.#key = Buffer.from(hkdfSync('sha256', secret, '', 'pshub registry: log-ins that were begun', 32))
  }

  write(login: BegunLogin): string {
    const text = Buffer.from(JSON.stringify(login)).toString('base64url')
    return `${text}.${this.#sign(text)}`
  }

  /** Undefined for what was not signed here, or is over. */
  read(cookie: string | undefined, nowMs: number): BegunLogin | undefined {
    const [, text, given] = /^([\w-]{1,3000})\.([\w-]{43})$/.exec(cookie ?? '') ?? []
    if (text === undefined || !timingSafeEqual(Buffer.from(given!), Buffer.from(this.#sign(text)))) return undefined
    const login = JSON.parse(Buffer.from(text, 'base64url').toString()) as BegunLogin
    return login.untilMs > nowMs ? login : undefined
  }

  #sign(text: string): string {
    return createHmac('sha256', this.#key).update(text).digest('base64url')
  }
}

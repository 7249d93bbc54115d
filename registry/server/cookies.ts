import { createHash } from 'node:crypto'
import fastifyCookie from '@fastify/cookie'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Proxies } from './proxies.ts'
import { portOf, type Whence, whenceOf } from './whence.ts'

/** What a cookie is for, and whether it comes along when another site leads to a page: `lax` does, `strict` does not. */
export interface CookieKind {
  name: string
  sameSite: 'strict' | 'lax'
}

/**
 * The session's cookie, or another one that is set up alike. Browsers share cookies among the ports of a host: without TLS its name contains the port, so that two
 * registries on one machine do not log each other out. Two in one server differ by their paths.
 */
export class SessionCookie {
  readonly #app: FastifyInstance
  readonly #path: string
  readonly #proxies: Proxies
  readonly #kind: CookieKind

  /** @param app with the plugin of `addCookies` */
  constructor(app: FastifyInstance, proxies: Proxies, kind: CookieKind = { name: 'registry', sameSite: 'strict' }) {
    this.#kind = kind
    this.#app = app
    this.#path = app.prefix || '/'
    this.#proxies = proxies
  }

  read(request: FastifyRequest): string | undefined {
    return this.#app.parseCookie(request.headers.cookie ?? '')[this.#name(whenceOf(request, this.#proxies))]
  }

  /** A Set-Cookie header; with an empty value the browser forgets it. */
  write(request: FastifyRequest, value: string, maxAgeMs: number): string {
    const whence = whenceOf(request, this.#proxies)
    return this.#app.serializeCookie(this.#name(whence), value, {
      // A browser takes a __Host- cookie only for all paths.
      path: whence.isHttps ? '/' : this.#path,
      httpOnly: true,
      secure: whence.isHttps,
      sameSite: this.#kind.sameSite,
      maxAge: Math.floor(maxAgeMs / 1000),
    })
  }

  #name(whence: Whence): string {
    if (!whence.isHttps) return `pshub_${this.#kind.name}_${portOf(whence)}`
    const place = createHash('sha256').update(this.#path).digest('hex').slice(0, 8)
    return `__Host-pshub_${this.#kind.name}_${place}`
  }
}

/** A server that we are mounted in may have it already; what we take of it is the same. */
export const addCookies = async (app: FastifyInstance): Promise<void> => {
  if (!app.hasRequestDecorator('cookies')) await app.register(fastifyCookie)
}

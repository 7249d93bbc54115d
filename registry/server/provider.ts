import type { Configuration } from 'openid-client'
import { ConfigError } from 'pshub'
import { isUserName } from './proxy-users.ts'
import type { User } from './tokens.ts'

type Library = typeof import('openid-client')

export interface ProviderSettings {
  oidcIssuer: string | undefined
  oidcClientId: string | undefined
  oidcClientSecret: string | undefined
  oidcScopes: readonly string[]
  oidcUserClaim: string
  oidcGroupsClaim: string
}

/** What has to come back, and the other half of what was sent. */
export interface Begun {
  state: string
  nonce: string
  verifier: string
}

/** Why somebody is not logged in: `away`, the provider cannot be asked; `denied`, it says no; `refused`, what it said is not to be believed; `name`, it names nobody. */
export type ProviderProblem = 'away' | 'denied' | 'refused' | 'name'

export class ProviderFailure extends Error {
  readonly problem: ProviderProblem
  constructor(problem: ProviderProblem, message: string) {
    super(message)
    this.problem = problem
  }
}

const timeoutSeconds = 5
/** What the provider says of itself is asked for again after this. */
const knownMs = 3600_000

/** A provider of OpenID Connect: the code flow with PKCE. Its tokens are looked at once and kept nowhere. */
export class Provider {
  readonly #library: Library
  readonly #settings: ProviderSettings
  #known: { config: Promise<Configuration>; sinceMs: number } | undefined

  /**
   * Undefined where none is set.
   * @throws ConfigError for settings without each other, and where the library is not installed
   */
  static async load(settings: ProviderSettings): Promise<Provider | undefined> {
    const { oidcIssuer, oidcClientId, oidcClientSecret, oidcScopes } = settings
    const set = [oidcIssuer, oidcClientId, oidcClientSecret].filter(value => value !== undefined)
    if (set.length === 0) return undefined
    if (set.length < 3)
      throw new ConfigError('Logging in at a provider needs all of oidcIssuer, oidcClientId and oidcClientSecret.')
    if (!oidcScopes.includes('openid')) throw new ConfigError("oidcScopes must have 'openid' among them.")
    try {
      return new Provider(await import('openid-client'), settings)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error
      throw new ConfigError('Logging in at a provider needs the package openid-client: npm install openid-client@6')
    }
  }

  private constructor(library: Library, settings: ProviderSettings) {
    this.#library = library
    this.#settings = settings
  }

  /** Where to send a browser. @throws ProviderFailure */
  async begin(callback: string): Promise<{ url: string; begun: Begun }> {
    const { randomState, randomNonce, randomPKCECodeVerifier, calculatePKCECodeChallenge, buildAuthorizationUrl } =
      this.#library
    const begun = { state: randomState(), nonce: randomNonce(), verifier: randomPKCECodeVerifier() }
    const config = await this.#config()
    const url = buildAuthorizationUrl(config, {
      redirect_uri: callback,
      scope: this.#settings.oidcScopes.join(' '),
      state: begun.state,
      nonce: begun.nonce,
      code_challenge: await calculatePKCECodeChallenge(begun.verifier),
      code_challenge_method: 'S256',
    })
    return { url: url.href, begun }
  }

  /** Who came back. @param returned the address, with all that is in it @throws ProviderFailure */
  async finish(returned: URL, { state, nonce, verifier }: Begun): Promise<User> {
    const { authorizationCodeGrant, fetchUserInfo } = this.#library
    const config = await this.#config()
    try {
      const tokens = await authorizationCodeGrant(config, returned, {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
      })
      const said = tokens.claims()!
      // Some providers say no more in the token than who it is.
      const needed = [this.#settings.oidcUserClaim, this.#settings.oidcGroupsClaim]
      const isWhole = needed.every(claim => Object.hasOwn(said, claim))
      const more = isWhole || !config.serverMetadata().userinfo_endpoint
      const info = more ? {} : await fetchUserInfo(config, tokens.access_token, said.sub)
      return this.#user({ ...info, ...said })
    } catch (error) {
      throw error instanceof ProviderFailure ? error : this.#failureOf(error)
    }
  }

  #user(claims: Readonly<Record<string, unknown>>): User {
    const { oidcUserClaim, oidcGroupsClaim } = this.#settings
    const name = own(claims, oidcUserClaim)
    if (!isUserName(name)) throw new ProviderFailure('name', `its claim ${oidcUserClaim} names no user`)
    // At some providers anybody may write any address there.
    if (oidcUserClaim === 'email' && claims.email_verified !== true)
      throw new ProviderFailure('name', 'it has not verified the e-mail address of this user; see oidcUserClaim')
    return { name, groups: [own(claims, oidcGroupsClaim)].flat().filter(isUserName) }
  }

  #config(): Promise<Configuration> {
    const known = this.#known
    if (known && Date.now() - known.sinceMs < knownMs) return known.config
    const config = this.#discover()
    const next = { config, sinceMs: Date.now() }
    this.#known = next
    // What failed is asked for again.
    config.catch(() => {
      if (this.#known === next) this.#known = undefined
    })
    return config
  }

  async #discover(): Promise<Configuration> {
    const { discovery, allowInsecureRequests, enableNonRepudiationChecks, ClientSecretBasic, ClientSecretPost } =
      this.#library
    const { oidcIssuer, oidcClientId, oidcClientSecret } = this.#settings
    const [basic, post] = [ClientSecretBasic(oidcClientSecret), ClientSecretPost(oidcClientSecret)]
    const issuer = new URL(oidcIssuer!)
    try {
      return await discovery(
        issuer,
        oidcClientId!,
        undefined,
        (server, client, body, headers) => {
          const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
          const authenticate = methods.includes('client_secret_basic') ? basic : post
          authenticate(server, client, body, headers)
        },
        {
          timeout: timeoutSeconds,
          // The setting allows plain HTTP on this machine only. Signatures are checked whichever way a token came.
          execute: [enableNonRepudiationChecks, ...(issuer.protocol === 'http:' ? [allowInsecureRequests] : [])],
        },
      )
    } catch (error) {
      throw new ProviderFailure('away', `its configuration cannot be read: ${reasonOf(error)}`)
    }
  }

  #failureOf(error: unknown): ProviderFailure {
    const { AuthorizationResponseError } = this.#library
    if (error instanceof AuthorizationResponseError)
      return new ProviderFailure('denied', `it answered ${JSON.stringify(error.error.slice(0, 80))}`)
    const isAway = ['fetch failed', 'OAUTH_TIMEOUT', 'OAUTH_ABORT'].some(sign =>
      [(error as Error).message, (error as NodeJS.ErrnoException).code].includes(sign),
    )
    return new ProviderFailure(isAway ? 'away' : 'refused', reasonOf(error))
  }
}

const own = (claims: Readonly<Record<string, unknown>>, name: string): unknown =>
  Object.hasOwn(claims, name) ? claims[name] : undefined

/** In the words of the library, for the log: neither the token nor what it says. */
const reasonOf = (error: unknown): string => {
  const { message, code } = error as NodeJS.ErrnoException
  return `${code === undefined ? '' : `${code}: `}${message}`.slice(0, 200)
}

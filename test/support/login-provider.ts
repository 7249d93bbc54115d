import { createHash, randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'

export const client = { id: 'the-registry', secret: 'a-secret-of-the-registry' }

/** What this provider is to do otherwise than it should: claims of its token, its key, the status of an address. */
export interface Lies {
  claims?: Record<string, unknown>
  otherKey?: boolean
  denies?: string
  /** Of the token's address. */
  status?: number
  /** The token's own header and signature are left out. */
  unsigned?: boolean
}

interface Granted {
  nonce: string
  challenge: string
  redirect: string
}

const wordOf = (request: IncomingMessage): Promise<string> =>
  new Promise(resolve => {
    let text = ''
    request.on('data', part => (text += part)).on('end', () => resolve(text))
  })

/** Made once for a process: an RSA key takes longer than all else that a test of a log-in does. */
const makePairs = async () => [await generateKeyPair('RS256'), await generateKeyPair('RS256')] as const
let pairs: ReturnType<typeof makePairs> | undefined

/** A provider of OpenID Connect that logs its one user in at once: codes are used once, secrets and PKCE are checked, tokens signed. */
export const startLoginProvider = async (user: Record<string, unknown>) => {
  const [key, other] = await (pairs ??= makePairs())
  const jwk = { ...(await exportJWK(key.publicKey)), kid: 'k', alg: 'RS256', use: 'sig' }
  const codes = new Map<string, Granted>()
  const state = { user, lies: {} as Lies, asked: [] as string[] }
  let issuer = ''

  const token = async (granted: Granted): Promise<string> => {
    const seconds = Math.floor(Date.now() / 1000)
    const claims = {
      ...{ iss: issuer, aud: client.id, sub: 'subject-7', iat: seconds, exp: seconds + 300, nonce: granted.nonce },
      ...state.user,
      ...state.lies.claims,
    }
    if (state.lies.unsigned) {
      const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
      return `${part({ alg: 'none' })}.${part(claims)}.`
    }
    const signing = state.lies.otherKey ? other.privateKey : key.privateKey
    return new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'k' }).sign(signing)
  }

  const answers: Record<string, (request: IncomingMessage, response: ServerResponse, url: URL) => Promise<void>> = {
    '/.well-known/openid-configuration': async (_request, response) =>
      send(response, 200, {
        issuer,
        ...{
          authorization_endpoint: `${issuer}/authorize`,
          token_endpoint: `${issuer}/token`,
          jwks_uri: `${issuer}/jwks`,
        },
        ...{ response_types_supported: ['code'], subject_types_supported: ['public'] },
        id_token_signing_alg_values_supported: ['RS256'],
      }),
    '/jwks': async (_request, response) => send(response, 200, { keys: [jwk] }),
    '/authorize': async (_request, response, { searchParams }) => {
      const redirect = new URL(searchParams.get('redirect_uri')!)
      const isKnown =
        searchParams.get('client_id') === client.id && searchParams.get('code_challenge_method') === 'S256'
      if (!isKnown || !/\bopenid\b/.test(searchParams.get('scope') ?? '')) return send(response, 400, {})
      redirect.searchParams.set('state', searchParams.get('state')!)
      if (state.lies.denies) redirect.searchParams.set('error', state.lies.denies)
      else {
        const code = randomBytes(16).toString('hex')
        const [nonce, challenge] = [searchParams.get('nonce')!, searchParams.get('code_challenge')!]
        codes.set(code, { nonce, challenge, redirect: searchParams.get('redirect_uri')! })
        redirect.searchParams.set('code', code)
      }
      response.writeHead(302, { location: redirect.href }).end()
    },
    '/token': async (request, response) => {
      const form = new URLSearchParams(await wordOf(request))
      const granted = codes.get(form.get('code') ?? '')
      codes.delete(form.get('code') ?? '')
      // Both are written as in a form, RFC 6749, section 2.3.1.
      const basic = Buffer.from((request.headers.authorization ?? '').slice(6), 'base64').toString()
      if (basic.split(':').map(decodeURIComponent).join(' ') !== `${client.id} ${client.secret}`)
        return send(response, 401, { error: 'invalid_client' })
      const digest = createHash('sha256')
        .update(form.get('code_verifier') ?? '')
        .digest('base64url')
      if (state.lies.status) return send(response, state.lies.status, {})
      if (granted?.challenge !== digest || granted.redirect !== form.get('redirect_uri'))
        return send(response, 400, { error: 'invalid_grant' })
      send(response, 200, { access_token: 'access', token_type: 'Bearer', id_token: await token(granted) })
    },
  }
  const server = createServer((request, response) => {
    const url = new URL(request.url!, issuer)
    state.asked.push(url.pathname)
    void (answers[url.pathname]?.(request, response, url) ?? send(response, 404, {}))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const close = () =>
    new Promise<void>(resolve => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  return { ...state, state, issuer, close }
}

const send = (response: ServerResponse, status: number, body: object): void =>
  void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))

const cookiesOf = (response: Response): string[] =>
  response.headers.getSetCookie().flatMap(text => {
    const pair = text.split(';')[0]!
    return pair.endsWith('=') ? [] : [pair]
  })

/** Goes the way of a browser, from the page of log-ins to the provider and back. `change`: what comes back, before it does. */
export const goThrough = async (
  at: (path: string) => string,
  { back = '', change = (url: URL) => url, cookie = (own: string) => own as string | undefined } = {},
) => {
  const begun = await fetch(at(`login/provider${back && `?back=${encodeURIComponent(back)}`}`), { redirect: 'manual' })
  const own = cookiesOf(begun).join('; ')
  const sent = begun.headers.get('location')!
  if (!sent.startsWith('http')) return { begun, to: sent, cookies: [] as string[] }
  const answered = await fetch(sent, { redirect: 'manual' })
  const returned = change(new URL(answered.headers.get('location')!))
  const kept = cookie(own)
  const headers = { 'sec-fetch-site': 'cross-site', ...(kept === undefined ? {} : { cookie: kept }) }
  const end = await fetch(returned, { redirect: 'manual', headers })
  return { begun, returned, end, to: end.headers.get('location') ?? '', cookies: cookiesOf(end) }
}

import type { Session } from '../../contract.ts'
import type { LoginWays } from '../../login-contract.ts'
import { at, base } from '../address/paths.ts'
import { access, refusedWhy, session } from './access.ts'
import { forgetKept } from './kept.ts'
import { type ApiFailure, post, request } from './request.ts'

/** Asks who looks. Never throws: `access` says how it went. */
export const openSession = async (): Promise<void> => {
  try {
    session.value = await request<Session>('session')
    access.value = 'in'
  } catch (error) {
    const { status, message } = error as ApiFailure
    refusedWhy.value = message
    access.value = status === 401 ? 'out' : status === 403 ? 'refused' : 'away'
  }
}

/** How one can log in; with a token where the service cannot be asked. */
export const loginWays = (): Promise<LoginWays> =>
  request<LoginWays>('login').catch(() => ({ token: true, provider: false }))

/** Leaves the pages for the provider, which sends the browser back to the page that was asked for. */
export const goToProvider = (): void => {
  const isLogin = location.pathname === at('login')
  const back = isLogin ? base : location.pathname + location.search
  location.assign(`${at('login/provider')}?back=${encodeURIComponent(back)}`)
}

/** Throws ApiFailure when the token is refused. */
export const logIn = async (token: string): Promise<void> => {
  await post('login', { token })
  await openSession()
}

/** What this browser keeps is forgotten in any case. Throws ApiFailure. */
export const logOut = async (): Promise<void> => {
  forgetKept()
  await post('logout', {})
  session.value = undefined
  access.value = 'out'
  // What was kept while the service was asked.
  forgetKept()
}

const tokenPattern = /^#token=(.+)$/

/** A token behind # in the address, which no server ever sees: it is taken out of the address, and out of the history. */
const takeToken = (): string | undefined => {
  const token = tokenPattern.exec(location.hash)?.[1]
  if (token === undefined) return undefined
  history.replaceState(null, '', location.pathname + location.search)
  try {
    return decodeURIComponent(token)
  } catch {
    return token
  }
}

/** At the start, and when a link with a token is opened where the page is already: that changes no more than the part behind #. */
export const startSessions = (): void => {
  void startSession()
  addEventListener('hashchange', () => tokenPattern.test(location.hash) && void startSession())
}

const startSession = async (): Promise<void> => {
  const token = takeToken()
  if (token === undefined) return openSession()
  try {
    await logIn(token)
  } catch {
    // The token is refused or the service away: what is known without it says which.
    await openSession()
  }
}

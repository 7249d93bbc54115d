import { useEffect, useState } from 'preact/hooks'
import { type LoginProblem, type LoginWays, loginProblems } from '../../login-contract.ts'
import { PageHead } from '../parts/page-head.tsx'
import { ThemeChoice } from '../parts/theme-choice.tsx'
import { refusedWhy } from '../session/access.ts'
import { goToProvider, logIn, loginWays } from '../session/login.ts'
import type { ApiFailure } from '../session/request.ts'
import { printable } from '../text/printable.ts'

/** Why the provider's log-in did not lead in; the address says no more than which of these it is. */
const problems: Record<LoginProblem, string> = {
  away: 'The log-in provider is unreachable. Try again soon; the log of the registry has the reason.',
  denied: 'The provider did not log you in.',
  refused:
    'The response of the provider could not be verified, so you were not logged in. The log of the registry has the reason.',
  name: 'The provider sent no user name that this registry accepts. The log of the registry has the reason.',
  role: 'You are logged in at the provider, but have no role in this registry. Ask its administrator for one.',
  begun: 'This log-in started in another browser, or more than ten minutes ago. Start again.',
  often: 'Too many log-ins failed from here. Try again in a minute.',
}

const problemIn = (search: string): string | undefined => {
  const said = new URLSearchParams(search).get('problem')
  const known = loginProblems.find(name => name === said)
  return known && problems[known]
}

/** Shown in place of every page while the service asks who it is; the address stays, and its page comes after it. */
export const LoginPage = () => {
  const [ways, setWays] = useState<LoginWays>()
  useEffect(() => void loginWays().then(setWays), [])
  if (!ways) return null
  const problem = problemIn(location.search)
  return (
    <main class="login">
      {ways.provider && (
        <section class="panel">
          <PageHead title="Log in" />
          {problem !== undefined && (
            <p class="problem" role="alert">
              {problem}
            </p>
          )}
          <button type="button" class="main" onClick={goToProvider}>
            Log in at the provider
          </button>
        </section>
      )}
      {ways.token && <TokenForm isOnly={!ways.provider} />}
      {!ways.provider && !ways.token && (
        <section class="panel">
          <PageHead title="Log in" />
          <p>Log in at the proxy in front of this registry: open the registry through the proxy.</p>
        </section>
      )}
      <ThemeChoice />
    </main>
  )
}

/** Whoever is known, and may not come in. */
export const RefusedPage = () => (
  <main class="login">
    <section class="panel">
      <PageHead title="Log-in failed" />
      <p role="alert">{printable(refusedWhy.value)}</p>
    </section>
    <ThemeChoice />
  </main>
)

const TokenForm = ({ isOnly }: { isOnly: boolean }) => {
  const [problem, setProblem] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    const token = String(new FormData(event.currentTarget as HTMLFormElement).get('token') ?? '').trim()
    if (token === '') return setProblem('Enter the token first.')
    setBusy(true)
    try {
      await logIn(token)
    } catch (error) {
      const failure = error as ApiFailure
      setProblem(failure.status === 401 ? 'This token is not valid.' : failure.message)
      setBusy(false)
    }
  }
  return (
    <form class="panel" method="post" action="" onSubmit={submit}>
      {isOnly ? <PageHead title="Log in" /> : <h2>With a token</h2>}
      <p class="quiet">The registry printed an address with a token when it started.</p>
      {/* A name, so that a password manager knows where to put the token. */}
      <input
        class="visually-hidden"
        type="text"
        name="username"
        value="pshub"
        autocomplete="username"
        readOnly
        tabIndex={-1}
        aria-hidden="true"
      />
      <label class="field-tall">
        Token
        <input
          type="password"
          name="token"
          autocomplete="current-password"
          required
          autofocus={isOnly}
          aria-invalid={problem !== undefined}
          aria-describedby={problem === undefined ? undefined : 'login-problem'}
        />
      </label>
      {problem !== undefined && (
        <p id="login-problem" class="problem" role="alert">
          {problem}
        </p>
      )}
      <button type="submit" class={isOnly ? 'main' : ''} disabled={isBusy}>
        {isBusy ? 'Logging in…' : 'Log in'}
      </button>
    </form>
  )
}

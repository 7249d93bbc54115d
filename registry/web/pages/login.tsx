import { useState } from 'preact/hooks'
import { PageHead } from '../parts/page-head.tsx'
import { ThemeChoice } from '../parts/theme-choice.tsx'
import { logIn } from '../session/login.ts'
import type { ApiFailure } from '../session/request.ts'

/** Shown in place of every page while the service asks for a token; the address stays, and its page comes after it. */
export const LoginPage = () => {
  const [problem, setProblem] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    const token = String(new FormData(event.currentTarget as HTMLFormElement).get('token') ?? '').trim()
    if (token === '') return setProblem('Write the token first.')
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
    <main class="login">
      <form class="panel" method="post" action="" onSubmit={submit}>
        <PageHead title="Log in" />
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
            autofocus
            aria-invalid={problem !== undefined}
            aria-describedby={problem === undefined ? undefined : 'login-problem'}
          />
        </label>
        {problem !== undefined && (
          <p id="login-problem" class="problem" role="alert">
            {problem}
          </p>
        )}
        <button type="submit" class="main" disabled={isBusy}>
          {isBusy ? 'Asking…' : 'Log in'}
        </button>
      </form>
      <ThemeChoice />
    </main>
  )
}

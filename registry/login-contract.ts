/** What the service and its pages tell each other of log-ins, as contract.ts has it of all else. */

/** GET api/login: how one can log in. */
export interface LoginWays {
  token: boolean
  /** At a provider of OpenID Connect: GET login/provider?back=<path>. */
  provider: boolean
}

/** Why a log-in at a provider failed, in the address of the page that says so: login?problem=. */
export const loginProblems = ['away', 'denied', 'refused', 'name', 'role', 'begun', 'often'] as const
export type LoginProblem = (typeof loginProblems)[number]

/** POST api/login: answered with a Session and its cookie. POST api/logout, with {}, ends it (204). */
export interface Login {
  token: string
}

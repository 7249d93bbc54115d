import { type RunningRegistry, type StandaloneOptions, startRegistry } from 'pshub-registry'
import type { Role } from '../../registry/contract.ts'
import { type Fixture, useRedis } from './hub-fixture.ts'

export const tokens: Record<Role, string> = {
  view: 'the-token-of-viewers',
  run: 'the-token-of-runners',
  admin: 'the-token-of-admins',
}

/** What an answer says. */
// biome-ignore lint/suspicious/noExplicitAny: a test looks at what it expects to be there
export const jsonOf = async (response: Response): Promise<any> => response.json()

/** A registry in this process, with tokens of all roles, on what the fixture has in the namespace of its test. */
export interface TestRegistry extends RunningRegistry {
  /** Of a path below its base, without a leading slash. */
  at(path: string): string
  /** A request with the bearer token of a role. */
  get(path: string, role?: Role): Promise<Response>
  post(path: string, body?: unknown, options?: { role?: Role; headers?: Record<string, string> }): Promise<Response>
  /** Logs in as a page does; returns the Cookie header of the session. */
  logIn(role?: Role): Promise<string>
}

export interface RegistryFixture extends Fixture {
  registry(options?: StandaloneOptions): Promise<TestRegistry>
}

export const json = { 'content-type': 'application/json' }
export const bearer = (role: Role) => ({ authorization: `Bearer ${tokens[role]}` })

/** What is asked of a registry that was started elsewhere. */
export const clientOf = (running: RunningRegistry): TestRegistry => {
  const at = (path: string) => new URL(path, running.url).href
  return {
    ...running,
    at,
    get: (path, role = 'admin') => fetch(at(path), { headers: bearer(role) }),
    post: (path, body, { role = 'admin', headers = {} } = {}) =>
      fetch(at(path), {
        method: 'POST',
        headers: { ...json, ...bearer(role), ...headers },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      }),
    logIn: async (role = 'admin') => {
      const body = JSON.stringify({ token: tokens[role] })
      const response = await fetch(at('api/login'), { method: 'POST', headers: json, body })
      return response.headers.get('set-cookie')?.split(';')[0] ?? ''
    },
  }
}

export const useRegistry = (args: string[] = []): RegistryFixture => {
  const fixture = useRedis(args)
  const registry = async (options: StandaloneOptions = {}): Promise<TestRegistry> => {
    const { view: viewToken, run: runToken, admin: adminToken } = tokens
    const running = await startRegistry({
      port: 0,
      viewToken,
      runToken,
      adminToken,
      hub: { redis: fixture.url, namespace: fixture.namespace, logLevel: 'silent' },
      logLevel: 'silent',
      ...options,
    })
    fixture.onEnd(() => running.close())
    return clientOf(running)
  }
  // Not copied, because its namespace is another one in each test.
  return Object.assign(Object.create(fixture) as Fixture, { registry })
}

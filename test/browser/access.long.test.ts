import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { useBrowser } from '../support/browser.ts'
import { client } from '../support/login-provider.ts'
import { useRegistry } from '../support/registry-fixture.ts'
import { judge } from './judge.ts'

/** Log-ins at a real provider, as people meet them. */
const fixture = useRegistry()
const browser = useBrowser()

/** What is used of the package, which says nothing of its types. */
interface ProviderPackage {
  Provider: new (issuer: string, settings: object) => { callback(): RequestListener }
}

/**
 * Knows everybody by what they write into its form, as somebody of the staff. It is away until `start` is called, because the
 * registry must know its address, and it the address of the registry.
 */
const provider = async () => {
  // Its own page asks for a font.
  browser.allow(/fonts\.googleapis\.com/)
  let answer: RequestListener = (_request, response) => response.socket?.destroy()
  const server = createServer((request, response) => answer(request, response))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  fixture.onEnd(async () => {
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
  })
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const start = async (callback: string) => {
    const name: string = 'oidc-provider'
    const { Provider } = (await import(name)) as ProviderPackage
    answer = new Provider(issuer, {
      clients: [{ client_id: client.id, client_secret: client.secret, redirect_uris: [callback] }],
      claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['groups'] },
      findAccount: (_context: unknown, id: string) => ({
        accountId: id,
        claims: async () => ({ sub: id, email: `${id}@example.com`, email_verified: true, groups: ['staff'] }),
      }),
    }).callback()
  }
  return { issuer, start }
}

describe('whoever is known to a provider', () => {
  const withProvider = async () => {
    browser.allow(/status of 401 .*\/api\/session/)
    const { issuer, start } = await provider()
    const registry = await fixture.registry({
      ...{ oidcIssuer: issuer, oidcClientId: client.id, oidcClientSecret: client.secret },
      access: { roles: { run: ['user:ann@example.com'] } },
    })
    return { registry, start: () => start(registry.at('login/callback')) }
  }
  const logInAs = async (page: Awaited<ReturnType<typeof browser.page>>, name: string) => {
    await page.getByRole('button', { name: 'Log in at the provider' }).click()
    await page.locator('input[name=login]').fill(name)
    await page.locator('input[name=password]').fill('any')
    await page.locator('button[type=submit]').click()
    await page.getByRole('button', { name: 'Continue' }).click()
  }

  it('logs in there, comes back to the page, and logs out', async () => {
    const { registry, start } = await withProvider()
    const page = await browser.page()
    await page.goto(registry.at('queues?q=a'))
    await page.getByRole('button', { name: 'Log in at the provider' }).click()
    await page.getByText('The log-in provider is unreachable.').waitFor()
    await judge(page, 'login-provider', browser)
    await start()
    await page.goto(registry.at('queues?q=a'))
    await logInAs(page, 'ann')
    await page.getByText('ann@example.com').waitFor()
    await expect.poll(() => page.url()).toBe(registry.at('queues?q=a'))
    await page.reload()
    await page.getByText('ann@example.com').waitFor()
    await page.getByRole('button', { name: 'Log out' }).click()
    await page.getByRole('button', { name: 'Log in at the provider' }).waitFor()
  })
})

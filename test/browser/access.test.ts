import { createServer, type RequestListener } from 'node:http'
import { describe, expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { freePort } from '../../tools/redis-server.mjs'
import { useBrowser } from '../support/browser.ts'
import { eventually } from '../support/hub-fixture.ts'
import { client } from '../support/login-provider.ts'
import { look, openPage, textOf } from '../support/pages-fixture.ts'
import { queueKeys } from '../support/queue-keys.ts'
import { useRegistry } from '../support/registry-fixture.ts'

/** Log-ins at a real provider, and values that are hidden, as people meet them. */
const fixture = useRegistry()
const browser = useBrowser()

/** What is used of the package, which says nothing of its types. */
interface ProviderPackage {
  Provider: new (issuer: string, settings: object) => { callback(): RequestListener }
}

/** Knows everybody by what they write into its form, as somebody of the staff. */
const startProvider = async (port: number, callback: string) => {
  // Its own page asks for a font.
  browser.allow(/fonts\.googleapis\.com/)
  const name: string = 'oidc-provider'
  const { Provider } = (await import(name)) as ProviderPackage
  const provider = new Provider(`http://127.0.0.1:${port}`, {
    clients: [{ client_id: client.id, client_secret: client.secret, redirect_uris: [callback] }],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['groups'] },
    findAccount: (_context: unknown, id: string) => ({
      accountId: id,
      claims: async () => ({ sub: id, email: `${id}@example.com`, email_verified: true, groups: ['staff'] }),
    }),
  })
  const server = createServer(provider.callback())
  await new Promise<void>(resolve => server.listen(port, '127.0.0.1', resolve))
  fixture.onEnd(async () => {
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
  })
}

describe('whoever is known to a provider', () => {
  const withProvider = async () => {
    browser.allow(/status of 401 .*\/api\/session/)
    const port = await freePort()
    const registry = await fixture.registry({
      ...{ oidcIssuer: `http://127.0.0.1:${port}`, oidcClientId: client.id, oidcClientSecret: client.secret },
      access: { roles: { run: ['user:ann@example.com'] } },
    })
    return { port, registry }
  }
  const logInAs = async (page: Awaited<ReturnType<typeof browser.page>>, name: string) => {
    await page.getByRole('button', { name: 'Log in at the provider' }).click()
    await page.locator('input[name=login]').fill(name)
    await page.locator('input[name=password]').fill('any')
    await page.locator('button[type=submit]').click()
    await page.getByRole('button', { name: 'Continue' }).click()
  }

  it('logs in there, comes back to the page, and logs out', async () => {
    const { port, registry } = await withProvider()
    const page = await browser.page()
    await page.goto(registry.at('queues?q=a'))
    await page.getByRole('button', { name: 'Log in at the provider' }).click()
    await page.getByText('The provider of log-ins cannot be asked at the moment.').waitFor()
    await look(browser, page, 'login-provider')
    await startProvider(port, registry.at('login/callback'))
    await page.goto(registry.at('queues?q=a'))
    await logInAs(page, 'ann')
    await page.getByText('ann@example.com').waitFor()
    expect(page.url()).toBe(registry.at('queues?q=a'))
    await page.reload()
    await page.getByText('ann@example.com').waitFor()
    await page.getByRole('button', { name: 'Log out' }).click()
    await page.getByRole('button', { name: 'Log in at the provider' }).waitFor()
  })

  it('and has no role here, is told so', async () => {
    const { port, registry } = await withProvider()
    await startProvider(port, registry.at('login/callback'))
    const page = await browser.page()
    await page.goto(registry.url)
    await logInAs(page, 'eve')
    await page.getByText('You are logged in at the provider, but have no role in this registry').waitFor()
  })
})

it('whoever a proxy names without a role is told so, in the place of a page', async () => {
  browser.allow(/status of 403 .*\/api\/session/)
  const registry = await fixture.registry({
    ...{ userHeader: 'X-User', behindProxy: ['127.0.0.1'], access: { roles: { view: ['user:ann'] } } },
  })
  const page = await browser.page({ extraHTTPHeaders: { 'X-User': 'eve' } })
  await page.goto(registry.at('tasks'))
  await page.getByRole('heading', { name: 'You cannot come in' }).waitFor()
  await page.getByText('have no role in this registry').waitFor()
  await page.setExtraHTTPHeaders({ 'X-User': 'ann' })
  await page.reload()
  await page.getByText('ann', { exact: true }).waitFor()
  expect(await page.getByRole('button', { name: 'Log out' }).count()).toBe(0)
})

it('what is hidden of a job is shown on demand, and stays when the rest is edited', async () => {
  fixture.allowLeftovers()
  const word = 'hunter2-and-more'
  const seen: unknown[] = []
  const properties = { user: { type: 'string' }, word: { type: 'string', format: 'password', minLength: 12 } } as const
  await fixture.worker([
    defineTask('login:1.0', { args: { type: 'object', properties }, retries: 0 }, given => {
      seen.push(given)
      if (given.user === 'nobody') throw new Error('there is no such user')
    }),
  ])
  const job = await fixture.hub().enqueue('login:1.0', { user: 'nobody', word })
  await eventually(async () => (await fixture.redis.zcard(queueKeys(fixture).dead)) === 1)
  const registry = await fixture.registry()
  const path = `jobs/${job.id}?queue=q&state=dead`
  const looking = await openPage(browser, registry, path, { role: 'view' })
  await looking.getByText('Some of the arguments is not shown').waitFor()
  const button = looking.getByRole('button', { name: /^Show it/ })
  expect(await button.getAttribute('aria-disabled')).toBe('true')
  const page = await openPage(browser, registry, path)
  await page.getByText('Some of the arguments is not shown').waitFor()
  await look(browser, page, 'job-hidden')
  expect(await page.content()).not.toContain(word)
  await page.getByRole('button', { name: /^Show it/ }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Show it' }).click()
  await page.getByText(word).waitFor()
  expect(await textOf(page.locator('main'))).not.toContain('Some of the arguments is not shown')
  await page.reload()
  await page.getByRole('button', { name: 'Edit the arguments and try again' }).click()
  await page.getByText('What is hidden stays as it is').waitFor()
  await page.getByRole('textbox', { name: 'user' }).fill('somebody')
  await page.getByRole('button', { name: 'Try again with these arguments' }).click()
  await eventually(async () => seen.length === 2)
  expect(seen[1]).toEqual({ user: 'somebody', word })
})

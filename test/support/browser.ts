import { mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, vi } from 'vitest'
import { ensureBrowser } from '../../tools/browser.mjs'

const artifacts = resolve(import.meta.dirname, '..', 'artifacts')

const args = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // Nothing of a page may leave this machine, not even a look-up of a name.
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost',
]

const ownHosts = ['127.0.0.1', 'localhost']

/** All files of a process share one browser, because starting one takes a CPU second. Each page gets a context of its own. */
let launched: Promise<Browser> | undefined
const launch = () => (launched ??= chromium.launch({ executablePath: ensureBrowser(), args }))

/** Pages that fail their test when anything in them goes wrong. */
export interface BrowserFixture {
  /**
   * A page in a context of its own, closed at the end of the test. The test fails when the page wrote an error to its
   * console, threw, broke its content policy, or asked another host for anything.
   */
  page(options?: BrowserContextOptions): Promise<Page>
  /** What a test brings about on purpose: complaints that match are not held against it. */
  allow(complaint: RegExp): void
  /** Complaints of this test's pages so far, the allowed ones too. */
  readonly complaints: readonly string[]
  /** Writes test/artifacts/<name>.png. */
  screenshot(page: Page, name: string): Promise<void>
}

/** A page waits this long for what it should show. A busy machine needs it, and an idle one never waits. */
const patienceMs = 60_000

/** `keepPages`: pages live until the end of the file and are shared by its tests; complaints still count per test. */
export const useBrowser = ({ keepPages = false } = {}): BrowserFixture => {
  vi.setConfig({ testTimeout: 240_000, expect: { poll: { timeout: patienceMs } } })
  let browser: Browser
  const contexts: BrowserContext[] = []
  let complaints: string[] = []
  let allowed: RegExp[] = []
  beforeAll(async () => {
    browser = await launch()
  }, 120_000)
  const closePages = () => Promise.all(contexts.splice(0).map(context => context.close()))
  afterAll(closePages)
  afterEach(async ({ task }) => {
    if (task.result?.state === 'fail') await Promise.all(contexts.flatMap(context => context.pages()).map(tellOf))
    const unexpected = complaints.filter(text => !allowed.some(pattern => pattern.test(text)))
    if (!keepPages) await closePages()
    complaints = []
    allowed = []
    // Softly: an error thrown here would keep the other fixtures from cleaning up, and their next test would fail for it.
    expect.soft(unexpected, 'complaints of the page').toEqual([])
  })
  return {
    async page(options = {}) {
      const context = await browser.newContext({
        locale: 'en-GB',
        timezoneId: 'UTC',
        reducedMotion: 'reduce',
        ...options,
      })
      context.setDefaultTimeout(patienceMs)
      contexts.push(context)
      await tellOfViolations(context)
      const page = await context.newPage()
      watch(page, text => complaints.push(text))
      return page
    },
    allow(complaint) {
      allowed.push(complaint)
    },
    get complaints() {
      return complaints
    },
    async screenshot(page, name) {
      mkdirSync(artifacts, { recursive: true })
      await page.screenshot({ path: join(artifacts, `${name}.png`), fullPage: true })
    },
  }
}

/** Says what a page shows, for whoever reads why its test failed. */
const tellOf = async (page: Page): Promise<void> => {
  const shown = await page.locator('body').ariaSnapshot({ timeout: 5000 }).catch(String)
  console.error(`${page.url()} shows:\n${shown.slice(0, 4000)}`)
}

/** A broken content policy becomes an error in the console, with the directive and what was refused. */
const tellOfViolations = (context: BrowserContext): Promise<unknown> =>
  context.addInitScript(`document.addEventListener('securitypolicyviolation', event => {
    console.error('content policy: ' + event.effectiveDirective + ' ' + event.blockedURI + ' ' + event.sample)
  })`)

const watch = (page: Page, complain: (text: string) => void): void => {
  page.on('console', message => {
    if (message.type() === 'error') complain(`console: ${message.text()} (${message.location().url})`)
  })
  page.on('pageerror', error => complain(`page error: ${error.stack ?? error.message}`))
  page.on('crash', () => complain('the page crashed'))
  page.on('dialog', dialog => {
    complain(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('request', request => {
    const { protocol, hostname } = new URL(request.url())
    if (protocol === 'blob:' || protocol === 'data:') return
    if (!ownHosts.includes(hostname)) complain(`request to another host: ${request.url().slice(0, 200)}`)
  })
}

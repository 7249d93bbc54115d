import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import type { Page } from 'playwright-core'
import { build } from 'vite'
import { afterAll, beforeAll } from 'vitest'

export const contentPolicy =
  "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
  "base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types pshub"

const mimes: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

export interface Stage {
  schema: unknown
  value?: unknown
  /** Problems that somebody else found. */
  verdict?: { pointer: string; message: string }[]
}

/** The built form alone on a page, under the registry's content policy. */
export const useFormPage = () => {
  const folder = mkdtempSync(join(tmpdir(), 'pshub-form-'))
  const stages = new Map<string, string>()
  let server: Server
  let url = ''
  beforeAll(async () => {
    const root = join(import.meta.dirname, 'form-page')
    const configFile = join(import.meta.dirname, '../../registry/web/vite.config.mjs')
    await build({ root, configFile, logLevel: 'warn', build: { outDir: folder, emptyOutDir: true } })
    const files = new Map<string, Buffer>(
      readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .filter(name => extname(name) !== '')
        .map(name => [`/${name}`, readFileSync(join(folder, name))]),
    )
    server = createServer((request, response) => {
      const { pathname, search } = new URL(request.url ?? '/', 'http://x')
      const stage = pathname === '/stage' ? stages.get(search) : undefined
      const name = pathname === '/' ? '/index.html' : pathname
      const body = stage ?? files.get(name)
      response.setHeader('content-security-policy', contentPolicy)
      response.setHeader('content-type', stage ? 'application/json' : (mimes[extname(name)] ?? 'text/plain'))
      response.statusCode = body === undefined ? 404 : 200
      response.end(body)
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  }, 120_000)
  afterAll(() => {
    server?.closeAllConnections()
    server?.close()
    rmSync(folder, { recursive: true, force: true })
  })
  let count = 0
  return {
    folder,
    /** Opens the form of a schema; resolves when it is drawn. `text` is given as it stands: JSON knows a key `__proto__`. */
    async open(page: Page, stage: Stage | string): Promise<void> {
      const name = String(++count)
      stages.set(`?${name}`, typeof stage === 'string' ? stage : JSON.stringify(stage))
      // Only the first one loads the page.
      await page.goto(`${url}#${name}`)
      await page.locator(`html[data-ready="${name}"]`).waitFor({ state: 'attached' })
    },
  }
}

/** The form's own problems, as the page was told of them. */
export const problemsOf = async (page: Page): Promise<{ pointer: string; message: string }[]> =>
  JSON.parse((await page.locator('#own').textContent()) ?? '[]')

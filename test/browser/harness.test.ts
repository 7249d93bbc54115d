import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { useBrowser } from '../support/browser.ts'

// The other browser tests rely on a page's complaints failing them, so these must be heard.
describe('a page under test', () => {
  const browser = useBrowser()
  let server: Server
  let url: string
  beforeAll(async () => {
    server = createServer((request, response) => {
      response.setHeader('content-security-policy', "script-src 'self'; require-trusted-types-for 'script'")
      response.setHeader('content-type', request.url === '/x.js' ? 'text/javascript' : 'text/html')
      if (request.url === '/x.js') return response.end('document.title = "ran"')
      if (request.url === '/throws.js') {
        response.setHeader('content-type', 'text/javascript')
        return response.end('throw new Error("by the page")')
      }
      return response.end(bodies[request.url ?? ''] ?? '<link rel="icon" href="data:,"><script src="/x.js"></script>')
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  afterAll(() => server.close())
  const icon = '<link rel="icon" href="data:,">'
  const bodies: Record<string, string> = {
    '/inline': `${icon}<script>document.title = "ran"</script>`,
    '/throws': `${icon}<script src="/throws.js"></script>`,
    '/elsewhere': `${icon}<img src="http://elsewhere.invalid/x.png">`,
  }

  it('may run its own scripts', async () => {
    const page = await browser.page()
    await page.goto(`${url}/`)
    expect(await page.title()).toBe('ran')
    expect(browser.complaints).toEqual([])
  })

  it.each([
    ['/inline', /content policy: script-src-elem inline/],
    ['/throws', /page error: .*by the page/],
    ['/elsewhere', /request to another host: http:\/\/elsewhere.invalid/],
  ])('is heard when something goes wrong: %s', async (path, complaint) => {
    browser.allow(/./)
    const page = await browser.page()
    await page.goto(url + path)
    await expect.poll(() => browser.complaints.join('\n')).toMatch(complaint)
  })
})

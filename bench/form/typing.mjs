// How long a key takes in a form whose value has 10,000 nodes: `node bench/form/typing.mjs`. From the event to what is painted, as the
// browser itself tells it (PerformanceObserver, `event`, in steps of 8 ms), and to the second animation frame after it; and the processor
// time of the page's own thread, which says something on a busy machine, too.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { extname, join, resolve } from 'node:path'
import { chromium } from 'playwright-core'
import { build } from 'vite'
import { ensureBrowser } from '../../tools/browser.mjs'

const rows = 2000
const keys = Number(process.argv[2] ?? 100)
const root = resolve(import.meta.dirname, '../..')
const folder = mkdtempSync(join(tmpdir(), 'pshub-typing-'))
const types = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml' }

const stage = {
  schema: {
    type: 'object',
    properties: {
      note: { type: 'string' },
      rows: {
        type: 'array',
        items: {
          type: 'object',
          properties: {
            sku: { type: 'string', maxLength: 80 },
            count: { type: 'integer' },
            price: { type: 'number' },
            gift: { type: 'boolean' },
          },
          required: ['sku'],
        },
      },
    },
  },
  value: {
    note: '',
    rows: Array.from({ length: rows }, (_, at) => ({ sku: `sku-${at}`, count: at, price: at / 4, gift: at % 2 === 0 })),
  },
}

const measure = `() => {
  globalThis.told = []
  globalThis.frames = []
  new PerformanceObserver(list => {
    for (const { name, duration } of list.getEntries()) if (name === 'keydown') told.push(duration)
  }).observe({ type: 'event', durationThreshold: 16 })
  addEventListener('keydown', ({ timeStamp }) => requestAnimationFrame(() => requestAnimationFrame(() => frames.push(performance.now() - timeStamp))), true)
}`

const at = (values, share) =>
  values.sort((a, b) => a - b)[Math.min(values.length - 1, Math.ceil(share * values.length) - 1)] ?? 0

await build({
  root: join(root, 'test/browser/form-page'),
  configFile: join(root, 'registry/web/vite.config.mjs'),
  logLevel: 'warn',
  build: { outDir: folder, emptyOutDir: true },
})
const server = createServer((request, response) => {
  const { pathname } = new URL(request.url, 'http://x')
  response.setHeader(
    'content-type',
    pathname === '/stage'
      ? 'application/json'
      : (types[extname(pathname === '/' ? 'index.html' : pathname)] ?? 'text/plain'),
  )
  response.end(
    pathname === '/stage'
      ? JSON.stringify(stage)
      : readFileSync(join(folder, pathname === '/' ? 'index.html' : pathname)),
  )
})
await new Promise(done => server.listen(0, '127.0.0.1', done))
const browser = await chromium.launch({ executablePath: ensureBrowser(), args: ['--no-sandbox'] })
try {
  const page = await browser.newPage({ viewport: { width: 1300, height: 900 } })
  const cdp = await page.context().newCDPSession(page)
  await cdp.send('Performance.enable', { timeDomain: 'threadTicks' })
  const cpuMs = async () => {
    const { metrics } = await cdp.send('Performance.getMetrics')
    return metrics.find(({ name }) => name === 'TaskDuration').value * 1000
  }
  await page.goto(`http://127.0.0.1:${server.address().port}/#1`)
  await page.locator('html[data-ready="1"]').waitFor({ state: 'attached' })
  // The page of the registry does not show the JSON while the form is open.
  await page.evaluate("document.querySelector('#json').style.display = 'none'")
  for (const pointer of ['/note']) {
    const field = page.locator(`[data-pointer="${pointer}"]:is(input, textarea)`)
    await field.waitFor()
    await page.evaluate(`(${measure})()`)
    await field.focus()
    const before = await cpuMs()
    for (let n = 0; n < keys; n++) {
      await page.keyboard.press('x')
      await page.waitForTimeout(20)
    }
    const cpu = ((await cpuMs()) - before) / keys
    const { told, frames, nodes } = await page.evaluate(
      '({ told, frames, nodes: document.querySelectorAll("*").length })',
    )
    // What is below the threshold is not told: it counts as that.
    const all = [...told, ...Array(Math.max(0, keys - told.length)).fill(16)]
    console.log(
      `${pointer}: ${keys} keys, ${rows * 5 + 3} nodes of the value, ${nodes} elements; event to paint p50 ${at(all, 0.5)} ms, p95 ${at(all, 0.95)} ms, ` +
        `most ${at(all, 1)} ms; to the second frame p50 ${at(frames, 0.5).toFixed(1)} ms, p95 ${at(frames, 0.95).toFixed(1)} ms; ` +
        `${cpu.toFixed(1)} ms of processor time for each key`,
    )
  }
} finally {
  await browser.close()
  server.close()
  rmSync(folder, { recursive: true })
}

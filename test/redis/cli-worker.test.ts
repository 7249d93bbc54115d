import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { root, useCli } from '../support/cli-fixture.ts'
import { eventually } from '../support/hub-fixture.ts'

const cli = useCli()
const { module, run, start, startWorker } = cli
describe('worker', () => {
  it('lets what runs finish when it is told to stop, and ends with 0', async () => {
    const worker = await startWorker()
    const call = run(['call', 'slow', '{"ms":3000}'])
    await worker.shows('slow begins')
    worker.signal('SIGTERM')
    // One Ctrl-C may come twice at once, from the terminal and from npm; that is no second one.
    worker.signal('SIGINT')
    await worker.shows('stopping')
    await eventually(async () => (await run(['workers'])).out.includes('draining'))
    expect(await call).toEqual({ code: 0, out: '{"slept":3000}\n', err: '' })
    expect((await worker.ended).code).toBe(0)
    expect((await run(['workers', '--json'])).out).toBe('[]\n')
  })

  it('gives up what is still running when the grace is over', async () => {
    const worker = await startWorker('--grace', '100ms')
    const call = run(['call', 'slow', '{"ms":60000}'])
    await worker.shows('slow begins')
    worker.signal('SIGINT')
    expect((await worker.ended).code).toBe(0)
    const { code, err } = await call
    expect(code).toBe(4)
    expect(err).toContain('WorkerLost: ')
  })

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('leaves at once at a second signal: %s, %i', async (signal, code) => {
    const worker = await startWorker()
    start(['call', 'slow', '{"ms":60000}'])
    await worker.shows('slow begins')
    worker.signal(signal)
    await worker.shows('stopping')
    const again = setInterval(() => worker.signal(signal), 50)
    const ended = await worker.ended
    clearInterval(again)
    expect(ended.code).toBe(code)
  })

  it('logs a rejection that nobody awaits and goes on', async () => {
    const worker = await startWorker()
    expect((await run(['call', 'stray'])).out).toBe('"done"\n')
    await worker.shows('a promise that nobody awaits was rejected')
    await worker.shows('astray')
    expect((await run(['call', 'add', '{"a":1}'])).out).toBe('1\n')
    worker.signal('SIGTERM')
    expect((await worker.ended).code).toBe(0)
  })

  it('stops in order after an exception that nothing caught, and ends with 1', async () => {
    const worker = await startWorker()
    const other = run(['call', 'slow', '{"ms":1000}'])
    await worker.shows('slow begins')
    await run(['call', 'crash'])
    expect(await other).toMatchObject({ code: 0, out: '{"slept":1000}\n' })
    const { code, err } = await worker.ended
    expect(code).toBe(1)
    expect(err).toContain('"reason":"crashed"')
    expect((await run(['workers', '--json'])).out).toBe('[]\n')
  })

  it('collects each task once, from named exports, the default, arrays and objects', async () => {
    const worker = await startWorker('--log-level', 'info')
    const names = JSON.parse((await run(['tasks', '--json'])).out).map(({ task }: { task: string }) => task)
    expect(names).toEqual(['add:1.0', 'crash:1.0', 'echo:1.2', 'fail:1.0', 'slow:1.0', 'stray:1.0', 'wrong:1.0'])
    worker.signal('SIGINT')
    await worker.ended
  })

  it('finds modules by file URL and packages by name, and CommonJS', async () => {
    mkdirSync(join(cli.folder, 'node_modules/shop'), { recursive: true })
    writeFileSync(join(cli.folder, 'node_modules/shop/package.json'), '{"main":"main.cjs"}')
    const index = JSON.stringify(join(root, 'dist/index.js'))
    const code = `exports.ready = import(${index})\nexports.tasks = []`
    writeFileSync(join(cli.folder, 'node_modules/shop/main.cjs'), code)
    expect((await run(['worker', 'shop'])).err).toMatch(
      // Newer versions of Node name the whole of a CommonJS module too.
      /It exports default \(object\), (module\.exports \(object\), )?ready \(object\), tasks \(array\)\./,
    )
    const worker = start(['worker', pathToFileURL(join(cli.folder, 'tasks.mjs')).href, './tasks.mjs'])
    await worker.shows('worker started')
    worker.signal('SIGTERM')
    expect((await worker.ended).code).toBe(0)
  })

  it('says what is wrong with a module in one sentence', async () => {
    const boom = 'const fail = () => {\n  throw new Error("boom")\n}\nfail()'
    const cases: [string, number, string][] = [
      ['./gone.mjs', 2, 'There is no module ./gone.mjs ('],
      ['no-such-package', 2, 'There is no module no-such-package: neither the file'],
      ['.', 2, '. is a directory'],
      [module('empty.mjs', 'export const a = 1, b = []'), 2, 'exports no task. It exports a (number), b (array).'],
      [module('throws.mjs', boom), 1, './throws.mjs failed while it was loaded: boom (file:'],
      [module('syntax.mjs', 'export const = 1'), 1, "./syntax.mjs could not be loaded: Unexpected token '='"],
      [module('lost.mjs', 'import "./gone.mjs"'), 2, './lost.mjs could not be loaded: Cannot find module'],
      [module('stuck.mjs', 'await new Promise(() => {})'), 1, './stuck.mjs did not finish loading'],
    ]
    for (const [name, code, message] of cases) {
      const ended = await run(['worker', name])
      expect(ended.err).toContain(message)
      expect(ended.err).not.toMatch(/\n\s+at /)
      expect(ended.code, name).toBe(code)
    }
    const debugged = await run(['worker', './throws.mjs', '--debug'])
    expect(debugged.err).toMatch(/\n\s+at fail \(.*throws\.mjs:2:9\)/)
  })

  it('serves what the handler of a contract returned, and says that a contract alone cannot be served', async () => {
    const contract = "export const resize = defineTask('resize:1.0', { threads: 1 })\n"
    const handled = 'export const served = resize.handler(async args => ({ served: args }))\n'
    const text = (code: string) =>
      `import { defineTask } from ${JSON.stringify(pathToFileURL(join(root, 'dist/index.js')).href)}\n${code}`
    writeFileSync(join(cli.folder, 'contracts.mjs'), text(contract))
    writeFileSync(join(cli.folder, 'both.mjs'), text(contract + handled))
    writeFileSync(join(cli.folder, 'other.mjs'), text(`${contract}export const a = defineTask('a:1.0', {}, () => 1)\n`))
    for (const modules of [['./contracts.mjs'], ['./other.mjs']]) {
      const { code, err } = await run(['worker', ...modules])
      expect(err).toContain('resize:1.0: a contract without its handler cannot be served. Add one')
      expect(err).toContain('contract.handler(async (args, ctx) => ...)')
      expect(err).not.toMatch(/\n\s+at /)
      expect(code).toBe(2)
    }
    const worker = start(['worker', './both.mjs'])
    await worker.shows('contracts are passed over')
    await worker.shows('worker started')
    expect((await run(['call', 'resize:1.0', '{"n":1}'])).out.trim()).toBe('{"served":{"n":1}}')
    worker.signal('SIGTERM')
    expect((await worker.ended).code).toBe(0)
  })

  it('refuses a Redis that would drop requests', async () => {
    await cli.redis.config('SET', 'maxmemory-policy', 'allkeys-lru')
    try {
      const worker = await run(['worker', './tasks.mjs'])
      expect(worker.code).toBe(2)
      expect(worker.err).toContain('This Redis cannot be used: maxmemory-policy is allkeys-lru')
      const check = await run(['check'])
      expect(check.code).toBe(1)
      expect(check.out).toMatch(/^error +eviction +maxmemory-policy is allkeys-lru/m)
    } finally {
      await cli.redis.config('SET', 'maxmemory-policy', 'noeviction')
    }
  })
})

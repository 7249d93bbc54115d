import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { exitCodeOf } from '../../src/cli/exit-codes.ts'
import { loadTasks } from '../../src/cli/load-tasks.ts'
import { importPshub, root, useCli } from '../support/cli-fixture.ts'

const cli = useCli()
const { module, run, startWorker } = cli

describe('worker', () => {
  it('lets what runs finish when it is told to stop, and ends with 0', async () => {
    const worker = await startWorker()
    const call = run(['call', 'slow', '{"ms":2000}'])
    await worker.shows('slow begins')
    worker.signal('SIGTERM')
    // One Ctrl-C may come twice at once, from the terminal and from npm; that is no second one.
    worker.signal('SIGINT')
    await worker.shows('stopping')
    expect(await call).toEqual({ code: 0, out: '{"slept":2000}\n', err: '' })
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

  it('leaves at once at a second signal', async () => {
    const worker = await startWorker()
    await run(['enqueue', 'slow', '{"ms":60000}'])
    await worker.shows('slow begins')
    worker.signal('SIGINT')
    await worker.shows('stopping')
    const again = setInterval(() => worker.signal('SIGINT'), 50)
    const ended = await worker.ended
    clearInterval(again)
    expect(ended.code).toBe(130)
  })

  it('logs a rejection that nobody awaits and goes on; stops in order after an exception that nothing caught, and ends with 1', async () => {
    const worker = await startWorker()
    expect((await run(['call', 'stray'])).out).toBe('"done"\n')
    await worker.shows('unhandled promise rejection')
    await worker.shows('astray')
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
    const { tasks } = await loadTasks(['./tasks.mjs', './tasks.mjs'], cli.folder)
    expect(tasks.map(({ name }) => name.full).sort()).toEqual([
      ...['add:1.0', 'crash:1.0', 'echo:1.2', 'fail:1.0', 'slow:1.0', 'stray:1.0', 'wrong:1.0'],
    ])
  })

  it('finds modules by file URL and packages by name, and CommonJS', async () => {
    mkdirSync(join(cli.folder, 'node_modules/shop'), { recursive: true })
    writeFileSync(join(cli.folder, 'node_modules/shop/package.json'), '{"main":"main.cjs"}')
    const index = JSON.stringify(join(root, 'dist/index.js'))
    const code = `exports.ready = import(${index})\nexports.tasks = []`
    writeFileSync(join(cli.folder, 'node_modules/shop/main.cjs'), code)
    await expect(loadTasks(['shop'], cli.folder)).rejects.toThrow(
      // Newer versions of Node name the whole of a CommonJS module too.
      /It exports default \(object\), (module\.exports \(object\), )?ready \(object\), tasks \(array\)\./,
    )
    const { tasks } = await loadTasks([pathToFileURL(join(cli.folder, 'tasks.mjs')).href, './tasks.mjs'], cli.folder)
    expect(tasks).toHaveLength(7)
  })

  it('says what is wrong with a module in one sentence', async () => {
    const boom = 'const fail = () => {\n  throw new Error("boom")\n}\nfail()'
    const cases: [string, number, string][] = [
      ['./gone.mjs', 2, 'There is no module ./gone.mjs ('],
      ['no-such-package', 2, 'There is no module no-such-package: neither the file'],
      ['.', 2, '. is a directory'],
      [module('empty.mjs', 'export const a = 1, b = []'), 2, 'exports no task. It exports a (number), b (array).'],
      [module('throws.mjs', boom), 1, './throws.mjs failed while loading: boom (file:'],
      [module('lost.mjs', 'import "./missing.mjs"'), 2, './lost.mjs could not be loaded: Cannot find module'],
    ]
    for (const [name, code, message] of cases) {
      const error = await loadTasks([name], cli.folder).catch(error => error)
      expect(error.message).toContain(message)
      expect(exitCodeOf(error), name).toBe(code)
    }
    for (const [name, message] of [
      [module('stuck.mjs', 'await new Promise(() => {})'), './stuck.mjs did not finish loading'],
      [module('syntax.mjs', 'export const = 1'), "./syntax.mjs could not be loaded: Unexpected token '='"],
    ] as const)
      expect(await run(['worker', name])).toMatchObject({ code: 1, err: expect.stringContaining(message) })
    const debugged = await run(['worker', './throws.mjs', '--debug'])
    expect(debugged.code).toBe(1)
    expect(debugged.err).toMatch(/^\.\/throws\.mjs failed .*\n[\s\S]*\n\s+at fail \(.*throws\.mjs:2:9\)/)
  })

  it('serves what the handler of a contract returned, and says that a contract alone cannot be served', async () => {
    const contract = "export const resize = defineTask('resize:1.0', { threads: 1 })\n"
    const handled = 'export const served = resize.handler(async args => ({ served: args }))\n'
    module('contracts.mjs', importPshub + contract)
    module('both.mjs', importPshub + contract + handled)
    module('other.mjs', `${importPshub}${contract}export const a = defineTask('a:1.0', {}, () => 1)\n`)
    for (const name of ['./contracts.mjs', './other.mjs'])
      await expect(loadTasks([name], cli.folder)).rejects.toThrow(
        /resize:1\.0: a contract without a handler cannot be served\. Add one.*contract\.handler\(async \(args, ctx\) => /,
      )
    const { tasks, passedOver } = await loadTasks(['./both.mjs'], cli.folder)
    expect([tasks.length, passedOver]).toEqual([1, ['resize:1.0']])
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

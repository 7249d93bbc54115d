import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { ConfigError, defineTask, isContract, isTask, type Task, Worker } from '../../src/index.ts'
import { ensureBuild, root } from '../support/cli-fixture.ts'
import { failure, useRedis } from '../support/hub-fixture.ts'

const it_ = useRedis()

const resize = defineTask('resize:1.0', {
  args: {
    type: 'object',
    properties: { width: { type: 'integer' } },
    required: ['width'],
    additionalProperties: false,
  },
  result: { type: 'object', properties: { half: { type: 'number' } }, required: ['half'] },
  timeoutMs: 700,
})

describe('a contract', () => {
  it('is what callers use, and its handler makes the task of it that workers serve', async () => {
    const before = { ...resize }
    const task = resize.handler(async ({ width }) => ({ half: width / 2 }))
    expect([isContract(resize), isTask(resize), isContract(task), isTask(task)]).toEqual([true, false, false, true])
    // Another one may have another handler: nothing of the contract has changed.
    expect({ ...resize }).toEqual(before)
    expect(task).toMatchObject({ name: resize.name, timeoutMs: 700, digest: resize.digest })
    await it_.worker([task])
    const hub = it_.hub()
    const { half } = await hub.call(resize, { width: 3 })
    expect(half).toBe(1.5)
    const job = await hub.enqueue(resize, { width: 5 }, { tracked: true })
    expect((await job.result()).half).toBe(2.5)
    const page = await hub.gather({ size: [resize, { width: 7 }] })
    expect(page.size.ok && page.size.value.half).toBe(3.5)
    expect((await failure(hub.call(resize, {} as never))).code).toBe('InvalidArgs')
    it_.allowLeftovers()
  })

  it('has the results of its handler checked', async () => {
    await it_.worker([resize.handler(() => ({}) as never)])
    expect((await failure(it_.hub().call(resize, { width: 1 }))).code).toBe('InvalidResult')
  })

  it('is called by handlers', async () => {
    const outer = defineTask('outer:1.0', {}, async (_args, ctx) => (await ctx.call(resize, { width: 4 })).half)
    await it_.worker([outer, resize.handler(({ width }) => ({ half: width / 2 }))])
    expect(await it_.hub().call(outer)).toBe(2)
  })

  it('cannot be served by itself', () => {
    for (const tasks of [[resize], [resize.handler(() => ({ half: 1 })), resize]])
      expect(() => new Worker({ tasks: tasks as never })).toThrow(
        /^resize:1\.0: a contract without a handler cannot be served\. Add one, .* contract\.handler\(/,
      )
  })

  it('refuses a handler that is none, and an option that is not of serving', () => {
    const refused: [() => unknown, string][] = [
      [() => resize.handler(undefined as never), 'resize:1.0: its handler must be a function, not undefined.'],
      [() => defineTask('a:1.0', {}, undefined as never), 'a:1.0: its handler must be a function, not undefined.'],
      [
        () => resize.handler(() => ({ half: 1 }), { thread: 1 } as never),
        "resize:1.0: there is no option 'thread'; did you mean 'threads'?",
      ],
      [
        () => resize.handler(() => ({ half: 1 }), { threads: 0 }),
        "resize:1.0: 'threads' must be a whole number of at least 1.",
      ],
    ]
    for (const [make, message] of refused) {
      expect(make).toThrow(ConfigError)
      expect(make).toThrow(message)
    }
  })

  it('has its handler run in threads, which find it in the module that exports it', { timeout: 60_000 }, async () => {
    ensureBuild()
    const folder = mkdtempSync(join(tmpdir(), 'pshub-contracts-'))
    it_.onEnd(() => rmSync(folder, { recursive: true }))
    const index = JSON.stringify(pathToFileURL(join(root, 'dist/index.js')).href)
    const write = (name: string, text: string) => writeFileSync(join(folder, name), text)
    write('contracts.mjs', `import { defineTask } from ${index}\nexport const where = defineTask('where:1.0', {})\n`)
    write(
      'tasks.mjs',
      `import { isMainThread } from 'node:worker_threads'
import * as contracts from './contracts.mjs'
const handler = () => ({ isMainThread })
export { contracts }
export const where = contracts.where.handler(handler, { threads: 1, module: import.meta.url })
export const astray = () =>
  contracts.where.handler(handler, { threads: 1, module: new URL('contracts.mjs', import.meta.url).href })
`,
    )
    const library: typeof import('../../src/index.ts') = await import(pathToFileURL(join(root, 'dist/index.js')).href)
    const { where, astray } = await import(pathToFileURL(join(folder, 'tasks.mjs')).href)
    const serve = async (task: Task, queue: string) => {
      const { url: redis, namespace } = it_
      const worker = new library.Worker({ redis, namespace, queue, tasks: [task], logLevel: 'silent' })
      await worker.start()
      it_.onEnd(() => worker.stop())
    }
    await serve(where, 'q')
    await serve(astray(), 'r')
    const hub = it_.hub()
    expect(await hub.call('where:1.0', {}, { queue: 'q', timeoutMs: 60_000 })).toEqual({ isMainThread: false })
    expect((await failure(hub.call('where:1.0', {}, { queue: 'r', timeoutMs: 60_000 }))).message).toMatch(
      /contracts\.mjs does not export where:1\.0, .* exports only the contract: pass \.handler\(\) the module that exports its return value\.$/,
    )
  })
})

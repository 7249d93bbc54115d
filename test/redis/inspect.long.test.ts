import { describe, expect, it } from 'vitest'
import { useCli } from '../support/cli-fixture.ts'
import { eventually } from '../support/hub-fixture.ts'

const cli = useCli()
const { module, run, start } = cli

const tasks = `
import { defineTask } from '${new URL('../../dist/index.js', import.meta.url).href}'
const block = ms => { const end = Date.now() + ms; while (Date.now() < end); }
const until = signal => new Promise(resolve => signal.addEventListener('abort', resolve))
export const quick = defineTask('quick:1.0', { timeoutMs: 60000 }, (_, ctx) => until(ctx.signal))
export const outer = defineTask('outer:1.0', { timeoutMs: 60000 }, (_, ctx) => {
  const called = ctx.call('quick:1.0')
  process.stdout.write('outer begun\\n')
  return called
})
export const blocks = defineTask('blocks:1.0', { timeoutMs: 60000 }, function computing({ ms }) { block(ms); return 'done' })
`
const startWorker = async (...args: string[]) => {
  const name = module('inspected.mjs', tasks)
  const worker = start(['worker', name, '--queue', 'q', '--slots', '4', ...args])
  await worker.shows('worker started')
  return worker
}
const workerIds = async () => JSON.parse((await run(['workers', '--json'])).out).map(({ id }: { id: string }) => id)

describe('pshub inspect', () => {
  it('says where the event loop of a worker is blocked, and so does its log', async () => {
    const worker = await startWorker()
    const [id] = await workerIds()
    const call = run(['call', 'blocks', '{"ms":15000}', '--timeout', '60s'])
    await worker.shows('event loop is blocked')
    const { code, out } = await run(['inspect', id])
    expect(code).toBe(0)
    expect(out).toMatch(
      /its event loop is blocked\nfor .* by blocks:1\.0\n {3}at block \(.*inspected\.mjs:3:\d+\)\n {3}at computing \(/,
    )
    expect((await call).out).toBe('"done"\n')
    worker.signal('SIGTERM')
    const { err } = await worker.ended
    const line = err.split('\n').find(text => text.includes('"event loop is blocked"'))!
    expect(JSON.parse(line)).toMatchObject({
      tasks: ['blocks:1.0'],
      stack: expect.arrayContaining([expect.stringMatching(/^block \(/)]),
    })
  }, 120_000)

  it('says so when a worker does not answer, and where there is none', async () => {
    const worker = await startWorker()
    const [id] = await workerIds()
    worker.signal('SIGSTOP')
    const { code, err } = await run(['inspect', id, '--json'])
    worker.signal('SIGCONT')
    expect([code, JSON.parse(err)]).toEqual([
      4,
      expect.objectContaining({ code: 'Timeout', message: expect.stringContaining('did not answer within 5 s') }),
    ])
    expect(await cli.redis.keys(`${cli.namespace}:{q}:inspect:*`)).toEqual([])
    // It lost its lease while it was stopped, and lives again under another id.
    const missed = await eventually(async () => {
      const told = await run(['inspect', 'nobody'])
      return told.err.includes('Live workers: ') && told
    })
    expect(missed).toMatchObject({
      code: 3,
      err: expect.stringContaining("There is no worker 'nobody'. Live workers: "),
    })
    expect((await run(['inspect'])).code).toBe(2)
  }, 120_000)
})

describe('kill -TTIN', () => {
  it('has a worker write what it runs to stderr', async () => {
    const worker = await startWorker('--log-level', 'info', '--grace', '100ms')
    start(['call', 'outer', '--timeout', '30s'])
    await worker.shows('outer begun')
    worker.signal('SIGTTIN')
    await worker.shows('waits for its call of quick:1.0')
    worker.signal('SIGTERM')
    const { code, err } = await worker.ended
    expect(code).toBe(0)
    expect(err).toMatch(/^worker \S+, queue q, pid \d+: [12] of 4 slots busy$/m)
  }, 120_000)
})

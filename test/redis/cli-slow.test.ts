import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { root, useCli } from '../support/cli-fixture.ts'
import { eventually } from '../support/hub-fixture.ts'

const cli = useCli()
const { run } = cli

const moduleText = () => `
import { defineTask } from ${JSON.stringify(pathToFileURL(join(root, 'dist/index.js')).href)}
const wait = ms => new Promise(resolve => setTimeout(resolve, ms))
export const blocking = defineTask('blocking:1.0', {}, ({ ms }) => { for (const end = Date.now() + ms; Date.now() < end;); })
export const waiting = defineTask('waiting:1.0', {}, async ({ ms }) => wait(ms))
export const failing = defineTask('failing:1.0', {}, async () => { await wait(20); throw new Error('no') })
`

const serve = async () => {
  const worker = cli.start(['worker', cli.module('slow.mjs', moduleText()), '--slots', '8'])
  await worker.shows('worker started')
  return async () => {
    worker.signal('SIGTERM')
    await worker.ended
  }
}

describe('pshub slow', () => {
  it('teaches where to look while there is none', async () => {
    expect(await run(['slow', 'image'])).toEqual({
      code: 0,
      out: '',
      err: "No call of a task with 'image' in its name took 1 ms or longer in the last 5 minutes. How they fare: pshub tasks\n",
    })
    expect((await run(['slow', '--json'])).out).toBe('[]\n')
    expect(await run(['slow', '--limit', '0'])).toMatchObject({ code: 2, err: expect.stringContaining('above 0') })
  })

  it('shows what each waited for: a blocked loop in its own column', async () => {
    const stop = await serve()
    const waiting = run(['call', 'waiting', '{"ms":3000}', '--name', 'web'])
    await eventually(async () =>
      (await cli.redis.hvals(`${cli.namespace}:stats`)).some(text => JSON.parse(text).busy === 1),
    )
    await run(['call', 'blocking', '{"ms":300}'])
    await waiting
    await run(['call', 'failing'])
    const shown = await eventually(async () => {
      const { out } = await run(['slow'])
      return out.includes('failing') ? out : undefined
    })
    const [head, ...rows] = shown!.trimEnd().split('\n')
    expect(head).toMatch(
      /^ +WHEN {2}TASK +TOTAL ms {2}BACKLOG ms {2}QUEUE WAIT ms {2}EXEC ms {2}LOOP ms {2}OUTCOME +WORKER +FROM +ID$/,
    )
    expect(rows.map(row => /\S+:1\.0/.exec(row)![0])).toEqual(['waiting:1.0', 'blocking:1.0', 'failing:1.0'])
    expect(rows[0]).toMatch(/ago {2}waiting:1\.0 .* ok +\S{8} {2}web +\S{22}$/)
    expect(rows[2]).toMatch(/ TaskFailed +\S{8} /)
    const calls = JSON.parse((await run(['slow', '--json'])).out)
    // Both have it: the one that blocked the loop, and the one that could not go on meanwhile.
    for (const { task, loopMs, us, totalUs } of calls.slice(0, 2)) {
      expect(loopMs, task).toBeGreaterThan(240)
      expect(totalUs).toBe(us.backlog + us.queue + us.exec)
    }
    expect(calls[1]).toMatchObject({ task: 'blocking:1.0', queue: 'default' })
    expect(calls[1].us.exec).toBeGreaterThanOrEqual(299_000)
    const limited = await run(['slow', '1.0', '--limit', '1'])
    expect(limited.out.split('\n')[1]).toContain('waiting:1.0')
    expect(limited.err).toBe('2 more: --limit 3, or the name of a task.\n')
    await stop()
    expect((await run(['slow'])).out).toBe('')
  }, 60_000)
})

describe('pshub tasks', () => {
  it('shows how they fare, and everything about one', async () => {
    const stop = await serve()
    for (let n = 0; n < 3; n++) await run(['call', 'waiting', '{"ms":30}'])
    await run(['call', 'failing'])
    const shown = await eventually(async () => {
      const { out } = await run(['tasks'])
      return /failing:1\.0 +default +1 +\S+ +100%/.test(out) ? out : undefined
    })
    expect(shown).toMatch(
      /^waiting:1\.0 +default +1 +(<0\.1|[\d.]+) +0% +[\d.]+ \/ [\d.]+ \/ [\d.]+ .* (29|3\d)(\.\d)? \/ \d+ \/ \d+ +5s +no/m,
    )
    expect(shown).toMatch(/^blocking:1\.0 +default +1 +0 +- +- +- +- +5s +no/m)
    const { out } = await run(['tasks', 'waiting:1.0'])
    expect(out).toMatch(
      /\nlast minute:\n {2}\S+ calls\/s, errors 0%\n\n {2}ms +p50 +p95 +p99 +max\n {2}backlog .*\n {2}queue wait .*\n {2}exec .*\n/,
    )
    expect(out).toContain("\nsince its worker's start:\n  3 calls: 3 ok\n")
    const failed = (await run(['tasks', 'failing:1.0'])).out
    expect(failed).toMatch(/errors 100% \(1 TaskFailed\)\n/)
    expect(failed).toContain('\n  1 call: 0 ok, 1 TaskFailed\n')
    expect((await run(['tasks', 'blocking:1.0'])).out).toContain('\nlast minute:\n  no calls ended\n')
    const workers = (await run(['workers'])).out
    expect(workers).toMatch(/ 0\/8 +\S+% +\S+ +25% .* \S+ \/ \S+ +\d+M +3 +3 +1 +\S+ ago +live$/m)
    expect((await run(['queues'])).out).toMatch(/^default +0 +- +0 +0 +0 +0\/8 +1 +\S+% +\S+ +25% /m)
    await stop()
  }, 60_000)
})

import { describe, expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { useCli } from '../support/cli-fixture.ts'
import { delay } from '../support/delay.ts'
import { eventually } from '../support/hub-fixture.ts'

const cli = useCli()
const { run } = cli

const blocking = defineTask('blocking:1.0', {}, () => {
  for (const end = Date.now() + 300; Date.now() < end; );
})
let release: () => void = () => undefined
const waiting = defineTask('waiting:1.0', {}, () => new Promise<void>(resolve => (release = resolve)))
const failing = defineTask('failing:1.0', {}, async () => {
  await delay(20, 'What takes a millisecond is not slow.')
  throw new Error('the disk\nis \u001b[31mfull')
})
const serve = () => cli.worker({ slots: 8 }, [blocking, waiting, failing])

describe.each(['slow', 'failures'])('pshub %s', name => {
  it('teaches where to look while there is none', async () => {
    expect(await run([name, 'image'])).toEqual({
      code: 0,
      out: '',
      err: expect.stringMatching(/^No call of a task with 'image' in its name .* For current figures: pshub tasks\n$/),
    })
    expect((await run([name, '--json'])).out).toBe('[]\n')
    expect(await run([name, '--limit', '0'])).toMatchObject({ code: 2, err: expect.stringContaining('above 0') })
  })
})

it('pshub slow, failures and tasks show how calls fared: a blocked loop in its own column, why they failed, and who called', async () => {
  const worker = await serve()
  const waits = run(['call', 'waiting', '--name', 'web'])
  await eventually(() => worker.busy === 1)
  await run(['call', 'blocking'])
  release()
  await waits
  for (const name of ['web', 'web', 'cron']) await run(['call', 'failing', '--name', name])
  const shown = await eventually(async () => {
    const { out } = await run(['slow'])
    return out.includes('cron') ? out : ''
  })
  const [, ...rows] = shown.trimEnd().split('\n')
  expect(rows.map(row => /\S+:1\.0/.exec(row)![0]).slice(0, 2)).toEqual(['waiting:1.0', 'blocking:1.0'])
  expect(rows[0]).toMatch(/ago {2}waiting:1\.0 .* ok +\S{8} {2}web +\S{22}$/)
  expect(shown).toMatch(/ TaskFailed +\S{8} {2}cron /)
  const calls = JSON.parse((await run(['slow', '--json'])).out)
  // Both have it: the one that blocked the loop, and the one that could not go on meanwhile.
  for (const { task, loopMs, us, totalUs } of calls.slice(0, 2)) {
    expect(loopMs, task).toBeGreaterThan(100)
    expect(totalUs).toBe(us.backlog + us.queue + us.exec)
  }
  const limited = await run(['slow', '1.0', '--limit', '1'])
  expect(limited.out.split('\n')[1]).toContain('waiting:1.0')
  expect(limited.err).toBe('4 more: --limit 5, or the name of a task.\n')

  const failures = await eventually(async () => {
    const { out } = await run(['failures'])
    return out.includes('cron') ? out : ''
  })
  expect(failures).toMatch(/^ +WHEN {2}TASK +CODE +EXEC ms {2}WORKER +FROM +ID +MESSAGE\n/)
  expect(failures).toMatch(
    /ago {2}failing:1\.0 {2}TaskFailed +[\d.]+ {2}\S{8} +cron +\S{22} {2}the disk is \\u001b\[31mfull\n/,
  )

  await eventually(async () => /^failing:1\.0 +default +1 +\S+ +100%/m.test((await run(['tasks'])).out))
  const details = await eventually(async () => {
    const { out } = await run(['tasks', 'failing:1.0'])
    return /\bcron\b/.test(out) ? out : ''
  })
  expect(details).toMatch(
    /\nlast minute:\n {2}\S+ calls\/s, errors 100% \(3 TaskFailed\)\n\n {2}ms +p50 +p95 +p99 +max\n {2}backlog .*\n {2}queue wait .*\n {2}exec .*\n/,
  )
  expect(details).toContain("\nsince its worker's start:\n  3 calls: 0 ok, 3 TaskFailed\n")
  expect(details).toMatch(/\ncallers:\n {2}service +calls\/s +calls\n {2}web +(<?[\d.]+) +2\n {2}cron +(<?[\d.]+) +1\n/)
  await worker.stop()
  expect((await run(['slow'])).out + (await run(['failures'])).out).toBe('')
}, 60_000)

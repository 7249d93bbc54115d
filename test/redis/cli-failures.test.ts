import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { root, useCli } from '../support/cli-fixture.ts'
import { eventually } from '../support/hub-fixture.ts'

const cli = useCli()
const { run } = cli

const moduleText = () => `
import { defineTask } from ${JSON.stringify(pathToFileURL(join(root, 'dist/index.js')).href)}
export const waiting = defineTask('waiting:1.0', {}, async ({ ms }) => new Promise(resolve => setTimeout(resolve, ms)))
export const failing = defineTask('failing:1.0', {}, () => { throw new Error('the disk\\nis \\u001b[31mfull') })
`

describe('pshub failures', () => {
  it('teaches where to look while there is none', async () => {
    expect(await run(['failures', 'image'])).toEqual({
      code: 0,
      out: '',
      err: "No call of a task with 'image' in its name failed on a worker in the last hour. How they fare: pshub tasks\n",
    })
    expect((await run(['failures', '--json'])).out).toBe('[]\n')
    expect(await run(['failures', '--limit', '0'])).toMatchObject({ code: 2, err: expect.stringContaining('above 0') })
    const { out } = await run(['failures', '--help'])
    expect(out).toContain('pshub failures [part of a name]')
    expect((await run(['--help'])).out).toMatch(/^ +failures +show the calls that failed lately, and why$/m)
  })

  it('shows when, what and why, and who called; as do the details of a task', async () => {
    const worker = cli.start(['worker', cli.module('failing.mjs', moduleText())])
    await worker.shows('worker started')
    for (const name of ['web', 'web', 'cron']) await run(['call', 'failing', '--name', name])
    await run(['call', 'waiting', '{"ms":1}', '--name', 'web'])
    const shown = await eventually(async () => {
      const { out } = await run(['failures'])
      return out.includes('cron') ? out : undefined
    })
    const [head, ...rows] = shown!.trimEnd().split('\n')
    expect(head).toMatch(/^ +WHEN {2}TASK +CODE +EXEC ms {2}WORKER +FROM +ID +MESSAGE$/)
    expect(rows).toHaveLength(3)
    expect(rows[0]).toMatch(
      /ago {2}failing:1\.0 {2}TaskFailed +[\d.]+ {2}\S{8} +cron +\S{22} {2}the disk is \\u001b\[31mfull$/,
    )
    const failures = JSON.parse((await run(['failures', 'fail', '--json'])).out)
    expect(failures.map(({ from }: { from: string }) => from)).toEqual(['cron', 'web', 'web'])
    expect(failures[0]).toMatchObject({ task: 'failing:1.0', queue: 'default', code: 'TaskFailed' })
    expect(await run(['failures', '--limit', '1'])).toMatchObject({
      err: '2 more: --limit 3, or the name of a task.\n',
    })
    const details = await eventually(async () => {
      const { out } = await run(['tasks', 'failing:1.0'])
      return /\bcron\b/.test(out) ? out : undefined
    })
    expect(details).toMatch(
      /\ncallers:\n {2}service +calls\/s +calls\n {2}web +(<?[\d.]+) +2\n {2}cron +(<?[\d.]+) +1\n/,
    )
    worker.signal('SIGTERM')
    await worker.ended
    expect((await run(['failures'])).out).toBe('')
  }, 60_000)
})

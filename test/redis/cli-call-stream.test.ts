import { execFile } from 'node:child_process'
import { existsSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { sleep } from '../../src/wire/clock.ts'
import { root, useCli } from '../support/cli-fixture.ts'
import { eventually } from '../support/hub-fixture.ts'
import { openTerminal } from '../support/terminal.ts'

const cli = useCli()

const tasks = `
import { appendFileSync, existsSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { defineTask, TaskError } from ${JSON.stringify(pathToFileURL(join(root, 'dist/index.js')).href)}
const timeoutMs = 30_000
export const words = defineTask('words:1.0', { timeoutMs }, async function* ({ until, returned, fails }) {
  yield 'to\\u001b'
  while (until && !existsSync(until)) await delay(10)
  yield { n: 2 }
  if (fails) throw new TaskError('no luck', { code: 'NoLuck' })
  return returned
})
export const endless = defineTask('endless:1.0', { timeoutMs: 120_000 }, async function* ({ yielded, pauseMs = 0 }, ctx) {
  try {
    for (;;) {
      appendFileSync(yielded, '.')
      yield 'x'.repeat(1000)
      if (pauseMs) await delay(pauseMs)
    }
  } finally {
    ctx.log.warn('endless has ended')
  }
})
export const steps = defineTask('steps:1.0', { timeoutMs }, async function* () {
  for (let done = 1; done <= 2; done++) {
    arguments[1].progress({ done, total: 2 })
    await delay(500)
    yield { done }
    await delay(500)
  }
  return 'ready'
})
export const whole = defineTask('whole:1.0', {}, () => ({ whole: true }))
`
const startWorker = async () => {
  const worker = cli.start(['worker', cli.module('streams.mjs', tasks)])
  await worker.shows('worker started')
  return worker
}
const stream = (task: string, args: object = {}, ...flags: string[]) =>
  cli.start(['call', task, JSON.stringify(args), '--stream', ...flags])

describe('pshub call --stream', () => {
  it('prints each chunk as it comes, and on stderr what was returned', async () => {
    await startWorker()
    const until = join(cli.folder, 'until')
    const call = stream('words:1.0', { until, returned: { n: 2 } })
    await call.shows('"to\\u001b"\n')
    writeFileSync(until, '')
    expect(await call.ended).toEqual({ code: 0, out: '"to\\u001b"\n{"n":2}\n', err: 'returned {"n":2}\n' })
    const nothing = await stream('words:1.0').ended
    expect(nothing).toEqual({ code: 0, out: '"to\\u001b"\n{"n":2}\n', err: '' })
    const json = await stream('whole:1.0', {}, '--json').ended
    expect(json).toEqual({ code: 0, out: '', err: '{"result":{"whole":true}}\n' })
    const phases = await stream('words:1.0', {}, '--phases', '--json').ended
    expect(Object.keys(JSON.parse(phases.err).phases)).toContain('exec')
  })

  it('tells how it failed behind the chunks, with the exit codes of calls', async () => {
    await startWorker()
    const failed = await stream('words:1.0', { fails: true }).ended
    expect(failed).toMatchObject({ code: 1, out: '"to\\u001b"\n{"n":2}\n' })
    expect(failed.err).toMatch(/^NoLuck: no luck/)
    const unknown = await stream('nothing:1.0', {}, '--json').ended
    expect(unknown).toMatchObject({ code: 3, out: '' })
    expect(JSON.parse(unknown.err)).toMatchObject({ code: 'NoSuchTask', ran: 'no' })
    const late = await stream('words:1.0', { until: join(cli.folder, 'never') }, '--timeout', '1s').ended
    expect(late).toMatchObject({ code: 4, out: '"to\\u001b"\n', err: expect.stringMatching(/^Timeout: /) })
  })

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('ends the task at %s, and with %i', async (signal, code) => {
    const worker = await startWorker()
    const call = stream('endless:1.0', { yielded: join(cli.folder, signal), pauseMs: 50 })
    await call.shows('xxx')
    call.signal(signal)
    expect(await call.ended).toMatchObject({ code, err: expect.stringMatching(/^Aborted: /) })
    await worker.shows('endless has ended')
  })

  it('ends the task when nobody reads any more, which is no failure', async () => {
    const worker = await startWorker()
    const call = stream('endless:1.0', { yielded: join(cli.folder, 'left'), pauseMs: 20 })
    await call.shows('xxx')
    call.child.stdout.destroy()
    expect(await call.ended).toMatchObject({ code: 0, err: '' })
    await worker.shows('endless has ended')
  })

  it.skipIf(!existsSync('/dev/full'))('ends the task when what it prints cannot be written, and says so', async () => {
    const worker = await startWorker()
    const program = [process.execPath, join(root, 'dist/cli/main.js'), 'call']
    const into = (...args: string[]) =>
      promisify(execFile)('sh', ['-c', '"$@" > /dev/full', 'sh', ...program, ...args], {
        env: { ...process.env, PSHUB_REDIS: cli.url, PSHUB_NAMESPACE: cli.namespace },
      })
    const full = { code: 1, stderr: 'stdout could not be written: ENOSPC: no space left on device, write.\n' }
    const args = JSON.stringify({ yielded: join(cli.folder, 'full'), pauseMs: 20 })
    await expect(into('endless:1.0', args, '--stream')).rejects.toMatchObject(full)
    await worker.shows('endless has ended')
    await expect(into('whole:1.0')).rejects.toMatchObject(full)
  })

  it('has the task wait while it is read slowly, for longer than a caller may be silent', async () => {
    const worker = await startWorker()
    const yielded = join(cli.folder, 'slow')
    const call = stream('endless:1.0', { yielded })
    await call.shows('xxx')
    call.child.stdout.pause()
    const count = () => statSync(yielded).size
    await sleep(12_000)
    expect(count()).toBeLessThan(1000)
    call.child.stdout.resume()
    await eventually(() => count() > 3000, 10_000)
    call.signal('SIGINT')
    expect((await call.ended).code).toBe(130)
    await worker.shows('endless has ended')
  })

  it('has the bar below the chunks on a terminal, and takes it away', async () => {
    await startWorker()
    const program = [process.execPath, join(root, 'dist/cli/main.js'), 'call', 'steps:1.0', '--stream']
    const terminal = openTerminal(120, 20, program, { PSHUB_REDIS: cli.url, PSHUB_NAMESPACE: cli.namespace })
    expect(await terminal.ended).toBe(0)
    const clear = '\r\u001b[K'
    const bar = '[###############...............]  50%  1 of 2\u001b[K'
    expect(terminal.output).toContain(`\r${bar}${clear}{"done":1}\r\n\r${bar}`)
    const [last, ...rest] = terminal.output.split(`${clear}{"done":2}\r\n`).reverse()
    expect(rest).toHaveLength(1)
    expect(last).toContain(`${clear}`)
    expect(last!.split(clear).at(-1)).toContain('"ready"')
  })
})

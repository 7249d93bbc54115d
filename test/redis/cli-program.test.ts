import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { main, root, useCli } from '../support/cli-fixture.ts'
import { eventually } from '../support/hub-fixture.ts'

const cli = useCli()
const { start, startWorker } = cli

/** Runs the program to its end, with what it reads from stdin. */
const program = (args: string[], input = '') => {
  const { child, ended } = start(args)
  child.stdin.end(input)
  return ended
}

describe('the program as it is built', () => {
  it('serves, calls, enqueues, and lists', async () => {
    const worker = await startWorker()
    expect(await program(['call', 'add', '-'], '{"a":1,"b":2}')).toEqual({ code: 0, out: '3\n', err: '' })
    const enqueued = await program(['enqueue', 'add', '{"a":5}', '--wait', '--json'])
    expect(enqueued).toEqual({ code: 0, out: '5\n', err: '' })
    expect((await program(['jobs'])).out).toMatch(/\ndefault +0 +0 +0 +0\n$/)
    const failed = await program(['call', 'fail'])
    expect(failed).toMatchObject({ code: 1, out: '', err: expect.stringMatching(/^TaskFailed: /) })
    worker.signal('SIGTERM')
    expect((await worker.ended).code).toBe(0)
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    expect((await program(['--version'])).out).toBe(`${version}\n`)
  })

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('gives up a call at %s and ends with %i', async (signal, code) => {
    const worker = await cli.worker()
    const call = start(['call', 'slow', '{"ms":60000}'])
    await eventually(() => worker.busy === 1, 60_000)
    call.signal(signal)
    expect(await call.ended).toMatchObject({ code, out: '', err: expect.stringContaining('Aborted: ') })
  })

  it('survives a reader that leaves', async () => {
    await cli.worker()
    const { child, ended } = start(['tasks'])
    child.stdout.destroy()
    expect(await ended).toEqual({ code: 0, out: '', err: '' })
  })

  it.skipIf(!existsSync('/dev/full'))('says that what it prints cannot be written', async () => {
    await cli.worker()
    const env = { PSHUB_REDIS: cli.url, PSHUB_NAMESPACE: cli.namespace }
    const stderr = 'stdout could not be written: ENOSPC: no space left on device, write.\n'
    const lines = [
      'call echo',
      'tasks',
      'workers',
      'queues',
      'jobs --json',
      'metrics',
      'completion bash',
      'help',
      '--version',
    ]
    for (const line of lines) {
      const words = ['-c', `"$0" "$1" ${line} > /dev/full`, process.execPath, main]
      await expect(promisify(execFile)('sh', words, { env }), line).rejects.toMatchObject({ code: 1, stderr })
    }
  })
})

it('commands that were run leave nothing behind in their process: it ends by itself', async () => {
  await cli.worker()
  cli.module(
    'all.mjs',
    `
    import { Readable, Writable } from 'node:stream'
    import { runCommand } from ${JSON.stringify(pathToFileURL(join(root, 'dist/cli/run-command.js')).href)}
    const before = JSON.stringify(process.env)
    const codes = []
    for (const line of ['call add {"a":1}', 'call fail', 'enqueue add {"a":1} --wait', 'jobs', 'top --once', 'check', 'queues --nonsense',
      'bench add {"a":1} --duration 50ms', 'worker ./gone.mjs', 'forward x ./gone.mjs', 'registry --port 1x', 'tasks --redis redis://127.0.0.1:1']) {
      const nobody = () => new Writable({ write: (chunk, encoding, done) => done() })
      const host = { env: process.env, cwd: '.', stdin: Readable.from([]), stdout: nobody(), stderr: nobody() }
      codes.push(await runCommand(line.split(' '), host))
    }
    console.log(JSON.stringify([codes, before === JSON.stringify(process.env), process.eventNames().filter(name => /^SIG|^un/.test(name))]))`,
  )
  const { code, out, err } = await start([], {}, join(cli.folder, 'all.mjs')).ended
  expect([code, err]).toEqual([0, ''])
  expect(JSON.parse(out)).toEqual([[0, 1, 0, 0, 0, 0, 2, 0, 2, 2, 2, 3], true, []])
})

import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { defineTask, TaskError } from '../../src/index.ts'
import { useCli } from '../support/cli-fixture.ts'
import { delay } from '../support/delay.ts'
import { eventually } from '../support/hub-fixture.ts'

const cli = useCli()

const timeoutMs = 120_000
// biome-ignore lint/suspicious/noExplicitAny: arguments of any kind
const words = defineTask('words:1.0', { timeoutMs }, async function* ({ gate, returned, fails }: any, { signal }) {
  yield 'to\u001b'
  while (gate && !existsSync(gate)) {
    signal.throwIfAborted()
    await delay(10, 'The test makes the file when it has seen the first chunk.')
  }
  yield { n: 2 }
  if (fails) throw new TaskError('no luck', { code: 'NoLuck' })
  return returned
})
let hasEnded = false
const endless = defineTask('endless:1.0', { timeoutMs }, async function* () {
  try {
    for (;;) {
      yield 'x'.repeat(1000)
      await delay(20, 'It yields until it is ended.')
    }
  } finally {
    hasEnded = true
  }
})
const whole = defineTask('whole:1.0', {}, () => ({ whole: true }))
const startWorker = () => {
  hasEnded = false
  return cli.worker({}, [words, endless, whole])
}
const lineOf = (task: string, args: object, flags: string[]) => [
  'call',
  task,
  JSON.stringify(args),
  '--stream',
  ...flags,
]
const stream = (task: string, args: object = {}, ...flags: string[]) => cli.run(lineOf(task, args, flags))
const start = (task: string, args: object = {}, ...flags: string[]) => cli.start(lineOf(task, args, flags))

describe('pshub call --stream', () => {
  it('prints each chunk as it comes, and on stderr what was returned', async () => {
    await startWorker()
    const gate = join(cli.folder, 'gate')
    const call = start('words:1.0', { gate, returned: { n: 2 } })
    await call.shows('"to\\u001b"\n')
    writeFileSync(gate, '')
    expect(await call.ended).toEqual({ code: 0, out: '"to\\u001b"\n{"n":2}\n', err: 'returned {"n":2}\n' })
    const nothing = await stream('words:1.0')
    expect(nothing).toEqual({ code: 0, out: '"to\\u001b"\n{"n":2}\n', err: '' })
    const json = await stream('whole:1.0', {}, '--json')
    expect(json).toEqual({ code: 0, out: '', err: '{"result":{"whole":true}}\n' })
    const phases = await stream('words:1.0', {}, '--phases', '--json')
    expect(Object.keys(JSON.parse(phases.err).phases)).toContain('exec')
  })

  it('tells how it failed behind the chunks, with the exit codes of calls', async () => {
    await startWorker()
    const failed = await stream('words:1.0', { fails: true })
    expect(failed).toMatchObject({ code: 1, out: '"to\\u001b"\n{"n":2}\n' })
    expect(failed.err).toMatch(/^NoLuck: no luck/)
    const unknown = await stream('nothing:1.0', {}, '--json')
    expect(unknown).toMatchObject({ code: 3, out: '' })
    expect(JSON.parse(unknown.err)).toMatchObject({ code: 'NoSuchTask', ran: 'no' })
    const late = await stream('words:1.0', { gate: join(cli.folder, 'never') }, '--timeout', '1s')
    expect(late).toMatchObject({ code: 4, out: '"to\\u001b"\n', err: expect.stringMatching(/^Timeout: /) })
  })

  it('ends the task at Ctrl-C, with 130', async () => {
    await startWorker()
    const call = start('endless:1.0')
    await call.shows('xxx')
    call.signal('SIGINT')
    expect(await call.ended).toMatchObject({ code: 130, err: expect.stringMatching(/^Aborted: /) })
    await eventually(() => hasEnded, 60_000)
  })

  it('ends the task when nobody reads any more, which is no failure', async () => {
    await startWorker()
    const call = start('endless:1.0')
    await call.shows('xxx')
    call.child.stdout.destroy()
    expect(await call.ended).toMatchObject({ code: 0, err: '' })
    await eventually(() => hasEnded, 60_000)
  })
})

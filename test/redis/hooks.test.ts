import { spawn } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { ConfigError, defineTask, StartFailed, Worker, type WorkerHooks } from '../../src/index.ts'
import { root, useCli } from '../support/cli-fixture.ts'
import { delay } from '../support/delay.ts'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'

const it_ = useRedis()
const cli = useCli()

describe('onStart', () => {
  const order: string[] = []
  const task = defineTask('first:1.0', {}, () => void order.push('task'))
  const make = (hooks: WorkerHooks) => {
    const own = { redis: it_.url, namespace: it_.namespace, queue: 'q', logLevel: 'silent', tasks: [task] }
    const worker = new Worker({ ...own, ...hooks })
    it_.onEnd(() => worker.stop())
    return worker
  }

  it('is awaited before the first task, once however many workers of the process have it', async () => {
    const onStart = async () => {
      await delay(100, 'so that a task which did not wait would come first')
      order.push('start')
    }
    const called = it_.hub().enqueue('first:1.0', {}, { queue: 'q' })
    await Promise.all([make({ onStart }).start(), make({ onStart }).start()])
    await called
    await eventually(() => order.length === 2)
    expect(order).toEqual(['start', 'task'])
    it_.allowLeftovers()
  })

  it('that fails keeps the worker from serving, says why, and may be tried again', async () => {
    const why = new Error('no licence')
    let tries = 0
    const onStart = () => {
      if (++tries === 1) throw why
    }
    const worker = make({ onStart })
    const error = await failure(worker.start())
    expect(error).toBeInstanceOf(StartFailed)
    expect(error).toMatchObject({ message: 'onStart failed, so the worker serves nothing: no licence', cause: why })
    expect(await it_.keys()).toEqual([])
    await make({ onStart }).start()
    expect(tries).toBe(2)
  })

  it('is a function', () => {
    expect(() => make({ onStart: 5 as never })).toThrow(ConfigError)
    expect(() => make({ lastWords: 'bye' as never })).toThrow("'lastWords' must be a function.")
  })
})

describe('hooks that modules of pshub worker export', () => {
  const library = new URL('../../dist/index.js', import.meta.url).href
  const tasksWith = (hooks: string) => `
import { defineTask } from '${library}'
export const crash = defineTask('crash:1.0', {}, () => { setTimeout(() => { throw new Error('crashed') }, 1); return 'done' })
export const stray = defineTask('stray:1.0', {}, () => { Promise.reject(new Error('astray')); return 'done' })
const say = text => process.stderr.write(text + '\\n')
${hooks}`

  it('are run at the start, and told of what nothing caught', async () => {
    const name = cli.module(
      'hooked.mjs',
      tasksWith(`
export const onStart = async () => say('starting up')
export const lastWords = async error => { await new Promise(resolve => setTimeout(resolve, 50)); say('last words: ' + error.message) }`),
    )
    const worker = cli.start(['worker', name])
    await worker.shows('worker started')
    await cli.run(['call', 'stray'])
    await worker.shows('last words: astray')
    expect((await cli.run(['call', 'crash'])).out).toBe('"done"\n')
    const { code, err } = await worker.ended
    expect(code).toBe(1)
    expect(err.indexOf('starting up')).toBeLessThan(err.indexOf('worker started'))
    expect(err).toContain('last words: crashed')
  }, 60_000)

  it('keep it from serving when they fail at the start', async () => {
    const name = cli.module('failing.mjs', tasksWith(`export const onStart = () => { throw new Error('no licence') }`))
    const { code, err } = await cli.run(['worker', name])
    expect([code, err]).toEqual([
      1,
      expect.stringContaining('onStart failed, so the worker serves nothing: no licence'),
    ])
    expect(err).not.toContain('worker started')
  }, 60_000)
})

describe('an onStart that does not end', () => {
  const library = new URL('../../dist/index.js', import.meta.url).href
  const waiting = (what: string) =>
    `import { defineTask } from '${library}'
export const a = defineTask('a:1.0', {}, () => 1)
export const onStart = () => new Promise(() => { process.stderr.write('starting up\\n'); ${what} })`

  it('does not keep the process from ending gracefully', async () => {
    const worker = cli.start(['worker', cli.module('waiting.mjs', waiting('setInterval(() => {}, 1000)'))])
    await worker.shows('starting up')
    worker.child.kill('SIGTERM')
    expect(await worker.ended).toMatchObject({ code: 0 })
  })

  it('does not end it without a word where nothing can end it any more', async () => {
    const { code, err } = await cli.run(['worker', cli.module('lost.mjs', waiting(''))])
    expect([code, err]).toEqual([1, expect.stringContaining('onStart waits for something that never happens.')])
  })
})

describe('lastWords of a worker in a process of its own', () => {
  /** Runs until it dies. Returns how, and what it said. */
  const die = (how: string, lastWords: string) => {
    const code = `
import { defineTask, Worker } from '${new URL('../../dist/index.js', import.meta.url).href}'
const worker = new Worker({ redis: '${it_.url}', namespace: '${it_.namespace}', queue: 'q', logLevel: 'silent',
  tasks: [defineTask('a:1.0', {}, () => 1)], lastWords: ${lastWords} })
await worker.start()
${how}
setInterval(() => {}, 1000)`
    const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    it_.onEnd(() => child.kill('SIGKILL'))
    it_.allowLeftovers()
    let said = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', chunk => (said += chunk))
    return new Promise<{ code: number | null; said: string }>(resolve =>
      child.once('close', code => resolve({ code, said })),
    )
  }
  const slow = `async error => { await new Promise(resolve => setTimeout(resolve, 50)); console.log('told', error.message) }`

  it('are awaited, and then it dies as it would have', async () => {
    const { code, said } = await die(`setTimeout(() => { throw new Error('boom') }, 1)`, slow)
    expect([code, said]).toEqual([1, expect.stringMatching(/^told boom\n[\s\S]*Error: boom\n {4}at /)])
  }, 60_000)

  it('may hang, and may fail themselves', async () => {
    const boom = `setTimeout(() => { throw new Error('boom') }, 1)`
    for (const lastWords of ['() => new Promise(() => {})', `() => { throw new Error('mute') }`]) {
      const { code, said } = await die(boom, lastWords)
      expect([code, said]).toEqual([1, expect.stringContaining('Error: boom')])
    }
  }, 60_000)
})

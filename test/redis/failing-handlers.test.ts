import { describe, expect, it } from 'vitest'
import { defineTask, TaskError } from '../../src/index.ts'
import { echo } from '../support/example-tasks.ts'
import { failure, useRedis } from '../support/hub-fixture.ts'

const it_ = useRedis()

describe('handlers that fail', () => {
  const failing = [
    defineTask('throws:1.0', {}, () => {
      throw new Error('no such city')
    }),
    defineTask('rejects:1.0', {}, async () => Promise.reject(undefined)),
    defineTask('throws_text:1.0', {}, () => {
      throw 'a text'
    }),
    defineTask('throws_more:1.0', {}, () => {
      throw new TaskError('try later', { retryable: true, data: { after: 3 } })
    }),
    defineTask('own_code:1.0', {}, city => {
      throw new TaskError('no such city', { code: 'NoSuchCity', status: 404, data: { city } })
    }),
    defineTask('own_status:1.0', {}, () => {
      throw new TaskError('not now', { status: 503 })
    }),
    defineTask('wrong_code:1.0', {}, () => {
      throw new TaskError('no', { code: 'Timeout' })
    }),
    defineTask('changed_code:1.0', {}, () => {
      throw Object.assign(new TaskError('no'), { code: 'Timeout', status: 200 })
    }),
    defineTask('symbol:1.0', {}, () => Symbol('s')),
    defineTask('function:1.0', {}, () => () => 1),
    defineTask('nothing:1.0', {}, () => undefined),
    defineTask(
      'wrong:1.0',
      { result: { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] } },
      () => ({}) as never,
    ),
    defineTask(
      'date:1.0',
      { result: { type: 'object', properties: { at: { type: 'string', format: 'date-time' } } } },
      () => ({ at: new Date(0) }) as never,
    ),
    defineTask('cyclic:1.0', {}, () => {
      const loop: Record<string, unknown> = {}
      loop.loop = loop
      return loop
    }),
  ]

  it('tell the caller class, message and data, and no stack', async () => {
    await it_.worker(failing)
    const hub = it_.hub()
    const failed = async (task: string) => (await failure(hub.call(task))).toJSON()
    expect(await failed('throws:1.0')).toMatchObject({
      code: 'TaskFailed',
      message: 'no such city',
      task: 'throws:1.0',
      retryable: false,
    })
    expect(await failed('rejects:1.0')).toMatchObject({
      code: 'TaskFailed',
      message: expect.stringContaining('not an Error'),
    })
    expect(await failed('throws_text:1.0')).toMatchObject({ code: 'TaskFailed', message: 'a text' })
    expect(await failed('throws_more:1.0')).toMatchObject({ code: 'TaskFailed', retryable: true, data: { after: 3 } })
    for (const task of ['symbol:1.0', 'function:1.0', 'cyclic:1.0', 'wrong:1.0'])
      expect((await failed(task)).code, task).toBe('InvalidResult')
    expect((await failed('wrong:1.0')).data).toEqual({ problems: [{ pointer: '/a', message: 'is required' }] })
    expect(JSON.stringify(await failed('throws:1.0'))).not.toMatch(/at .*\.ts/)
  })

  it('have a code and a status of their own where the handler chose them', async () => {
    await it_.worker(failing)
    const hub = it_.hub()
    const settled: (string | undefined)[] = []
    hub.events.on('call:settled', ({ code }) => settled.push(code))
    const failed = async (task: string) => failure(hub.call(task, 'Atlantis'))
    const own = { kind: 'TaskFailed', ran: 'yes', retryable: false }
    expect(await failed('own_code:1.0')).toMatchObject({
      ...{ ...own, code: 'NoSuchCity', status: 404, message: 'no such city', data: { city: 'Atlantis' } },
    })
    expect(await failed('own_status:1.0')).toMatchObject({ ...own, code: 'TaskFailed', status: 503 })
    const wrong = await failed('wrong_code:1.0')
    expect(wrong).toMatchObject({ ...own, code: 'TaskFailed', status: 500 })
    expect(wrong.message).toMatch(/Timeout is a code that pshub itself uses.*Choose another one/)
    // What is said of the call itself stays true, whatever a handler assigns.
    expect(await failed('changed_code:1.0')).toMatchObject({ ...own, code: 'TaskFailed', status: 500 })
    expect(settled).toEqual(['NoSuchCity', ...Array(3).fill('TaskFailed')])
  })

  it('that a handler cannot tell as it wants to are refused where it does', () => {
    const taskError = (options: object) => () => new TaskError('no', options)
    for (const code of ['', 'no', 'No such', 'N'.repeat(65), 5, null])
      expect(taskError({ code }), String(code)).toThrow(
        /must start with a capital letter and have at most 64 letters and digits/,
      )
    for (const status of [200, 399, 600, 404.5, '404', null])
      expect(taskError({ status }), String(status)).toThrow(/whole number from 400 to 599/)
    const ring: unknown[] = []
    ring.push(ring)
    for (const code of [5n, Symbol('N'), ring, Object.create(null)])
      expect(taskError({ code }), typeof code).toThrow(/such as NoSuchCity; it is (5|Symbol\(N\)||object)\.$/)
    expect(taskError({ code: 'N'.repeat(10_000) })).toThrow(/it is "N{79}…\.$/)
    expect(taskError({ status: '404' })).toThrow(/to 599, not "404"\.$/)
    expect(taskError({ code: 'TaskFailed', status: 599 })().status).toBe(599)
  })

  it('may return nothing, and what turns into JSON', async () => {
    await it_.worker(failing)
    const hub = it_.hub()
    expect(await hub.call('nothing:1.0')).toBeNull()
    expect(await hub.call('date:1.0')).toEqual({ at: '1970-01-01T00:00:00.000Z' })
  })

  it('do not take a slot for ever when they never settle', async () => {
    const stuck = defineTask('stuck:1.0', {}, () => new Promise(() => undefined))
    await it_.worker([stuck, echo], { slots: 1 })
    const hub = it_.hub()
    expect((await failure(hub.call('stuck:1.0', {}, { timeoutMs: 200 }))).code).toBe('Timeout')
    expect(await hub.call('echo:1.0', 'still here', { timeoutMs: 5000 })).toBe('still here')
  })
})

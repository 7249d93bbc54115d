import { describe, expect, it } from 'vitest'
import { defineTask, HubError } from '../../src/index.ts'
import { failure, useRedis } from '../support/hub-fixture.ts'

const it_ = useRedis()
const task = defineTask('a:1.0', {}, args => args)

describe('how long somebody would wait', () => {
  it('is a number, and a signal is one', async () => {
    await it_.worker([task])
    const hub = it_.hub()
    const job = await hub.enqueue('a:1.0', {}, { tracked: true })
    const chain = await hub.chain([['a:1.0', {}]])
    const waits: [string, (options: object) => Promise<unknown>][] = [
      ['call a:1.0', options => hub.call('a:1.0', {}, options)],
      [`result of job ${job.id}`, options => job.result(options)],
      [`result of chain ${chain.id}`, options => chain.result(options)],
    ]
    const controller = new AbortController()
    for (const [what, wait] of waits) {
      for (const [timeoutMs, shown] of [
        ['500', '"500"'],
        [true, 'true'],
        [[5], '5'],
        [5n, '5'],
        [Number.NaN, 'NaN'],
      ])
        expect(await failure(wait({ timeoutMs })), `${what} ${shown}`).toMatchObject({
          code: 'InvalidArgs',
          message: `${what}: timeoutMs must be a number of milliseconds, not ${shown}.`,
        })
      expect(await failure(wait({ signal: controller })), what).toMatchObject({
        code: 'InvalidArgs',
        message: `${what}: signal must be an AbortSignal, not [object AbortController]; pass the signal of the controller.`,
      })
      expect(await failure(wait({ signal: 5 })), what).toMatchObject({ code: 'InvalidArgs' })
    }
    await job.result({ timeoutMs: 5000, signal: controller.signal })
    it_.allowLeftovers()
  })
})

describe('an option that there is not', () => {
  it('is refused by what calls and enqueues, with the one that was meant', async () => {
    await it_.worker([task])
    const hub = it_.hub()
    const any = (value: object) => value as never
    const job = await hub.enqueue('a:1.0', {}, { tracked: true })
    const chain = await hub.chain([['a:1.0', {}]])
    const meant = "there is no option 'timeout'; did you mean 'timeoutMs'?"
    const typo = any({ timeout: 500 })
    const wrong: [string, () => Promise<unknown>][] = [
      [`call a:1.0: ${meant}`, () => hub.call('a:1.0', {}, typo)],
      [`call a:1.0: ${meant}`, () => hub.call(task, {}, typo)],
      [`enqueue a:1.0: ${meant}`, () => hub.enqueue('a:1.0', {}, typo)],
      [`enqueue: ${meant}`, () => hub.enqueueMany([['a:1.0']], typo)],
      [`Nothing was enqueued. Entry 0: enqueue a:1.0: ${meant}`, () => hub.enqueueMany([['a:1.0', {}, typo]])],
      [`chain: ${meant}`, () => hub.chain([['a:1.0']], typo)],
      [`Entry 1 of the chain: ${meant}`, () => hub.chain([['a:1.0'], ['a:1.0', {}, typo]])],
      [`batch: ${meant}`, () => hub.batch([['a:1.0']], typo)],
      [`schedule: ${meant}`, () => hub.schedule('s', { cron: '@daily' }, 'a:1.0', {}, typo)],
      [
        "schedule s: there is no option 'timezon'; did you mean 'timezone'?",
        () => hub.schedule('s', any({ cron: '@daily', timezon: 'UTC' }), 'a:1.0'),
      ],
      [
        "enqueue a:1.0, unique: there is no option 'untill'; did you mean 'until'?",
        () => hub.enqueue('a:1.0', {}, { unique: any({ untill: 'started' }) }),
      ],
      ["job: there is no option 'que'; did you mean 'queue'?", () => hub.job(job.id, any({ que: 'q' }))],
      ["jobs: there is no option 'que'; did you mean 'queue'?", () => hub.jobs(any({ que: 'q' }))],
      [
        "dead jobs: there is no option 'arg'; did you mean 'args' or 'argsText'?",
        () => hub.dead('q').retry({}, any({ arg: 1 })),
      ],
      [`result of job ${job.id}: ${meant}`, () => job.result(typo)],
      [`result of chain ${chain.id}: ${meant}`, () => chain.result(typo)],
    ]
    for (const [message, act] of wrong) {
      const error = await failure(act())
      expect(error, message).toMatchObject({ code: 'InvalidArgs', ran: 'no', message })
    }
    const { here, there } = await hub.gather({ here: ['a:1.0', 1], there: ['a:1.0', 2, typo] })
    expect(here).toMatchObject({ ok: true, value: 1 })
    expect(there).toMatchObject({ ok: false, error: { code: 'InvalidArgs', message: `gather: 'there': ${meant}` } })
    const { all } = await hub.gather({ all: ['a:1.0', 1] }, typo)
    expect(all).toMatchObject({ ok: false, error: { message: `gather: 'all': ${meant}` } })
    expect(await job.result()).toEqual({})
    it_.allowLeftovers()
  })

  it('is refused by a call of a handler', async () => {
    const outer = defineTask('outer:1.0', {}, (_args, ctx) => ctx.call(task, {}, { timeout: 5 } as never))
    await it_.worker([outer, task])
    const error = await failure(it_.hub().call(outer))
    expect(error).toMatchObject({
      code: 'TaskFailed',
      message: "ctx.call a:1.0: there is no option 'timeout'; did you mean 'timeoutMs'?",
      data: { nested: { code: 'InvalidArgs', ran: 'no' } },
    })
  })
})

describe('a call that is given up', () => {
  it('before it was sent certainly has not run', async () => {
    await it_.worker([task])
    const hub = it_.hub()
    const fired = await failure(hub.call('a:1.0', {}, { signal: AbortSignal.abort(new Error('enough')) }))
    expect(fired).toMatchObject({ code: 'Aborted', ran: 'no', cause: { message: 'enough' } })
    // While its name is looked up.
    const early = new AbortController()
    const looking = failure(it_.hub().call('a:1.0', {}, { signal: early.signal }))
    early.abort()
    expect(await looking).toMatchObject({ code: 'Aborted', ran: 'no' })
    // While it waits for the next push: nothing of it is in Redis.
    await hub.call('a:1.0')
    const late = new AbortController()
    const waiting = failure(hub.call('a:1.0', {}, { signal: late.signal }))
    late.abort()
    expect(await waiting).toMatchObject({ code: 'Aborted', ran: 'no' })
  })

  it('behind that may have', async () => {
    const controller = new AbortController()
    const begun = defineTask('begun:1.0', {}, () => controller.abort())
    await it_.worker([begun])
    const error = await failure(it_.hub().call(begun, {}, { signal: controller.signal }))
    expect(error).toMatchObject({ code: 'Aborted', ran: 'maybe' })
    it_.allowLeftovers()
  })

  it('says so in its JSON too', () => {
    const error = new HubError('Aborted', 'No.', { task: 'a:1.0', id: 'x', ran: 'no', data: { n: 1 } })
    expect(JSON.parse(JSON.stringify(error))).toEqual({
      code: 'Aborted',
      message: 'No.',
      ran: 'no',
      retryable: false,
      task: 'a:1.0',
      id: 'x',
      data: { n: 1 },
    })
    expect(JSON.parse(JSON.stringify(new HubError('TaskFailed')))).toMatchObject({ ran: 'yes' })
  })
})

import { describe, expect, it } from 'vitest'
import { ConfigError, defineTask, HubError, type Job, Worker } from '../../src/index.ts'
import { failure, useRedis } from '../support/hub-fixture.ts'

const it_ = useRedis()

const started = async (use: (worker: Worker) => void) => {
  const tasks = [defineTask('echo:1.0', { retries: 0 }, args => args), defineTask('other:1.0', {}, () => 'other')]
  const worker = new Worker({ redis: it_.url, namespace: it_.namespace, queue: 'q', logLevel: 'silent', tasks })
  use(worker)
  it_.onEnd(() => worker.stop())
  await worker.start()
  return worker
}

describe('what is put around handlers', () => {
  it('sees calls and jobs, in order, and may change what goes in and comes out', async () => {
    const seen: string[] = []
    const worker = await started(own => {
      own.use(next => async (request, ctx) => {
        seen.push(`first ${request.task} ${ctx.attempt}`)
        return { wrapped: await next(request, ctx) }
      })
      own.use(next => (request, ctx) => {
        seen.push('second')
        return next({ ...request, args: [request.args] }, ctx)
      })
    })
    const hub = it_.hub()
    expect(await hub.call('echo:1.0', 1)).toEqual({ wrapped: [1] })
    expect(await hub.call('other:1.0')).toEqual({ wrapped: 'other' })
    const job = await hub.enqueue('echo:1.0', 2, { keepResultMs: 1000 })
    expect(await job.result()).toEqual({ wrapped: [2] })
    expect(seen).toEqual(['first echo:1.0 1', 'second', 'first other:1.0 1', 'second', 'first echo:1.0 1', 'second'])
    expect(() => worker.use(next => next)).toThrow(ConfigError)
    it_.allowLeftovers()
  })

  it('may stop a request', async () => {
    await started(own =>
      own.use(next => (request, ctx) => {
        if (request.args === 'stop') throw new Error('stopped')
        return request.args === 'known' ? 'from elsewhere' : next(request, ctx)
      }),
    )
    const hub = it_.hub()
    expect(await failure(hub.call('echo:1.0', 'stop'))).toMatchObject({ code: 'TaskFailed', message: 'stopped' })
    expect(await hub.call('echo:1.0', 'known')).toBe('from elsewhere')
  })
})

describe('what is put around enqueue()', () => {
  it('sees each job, in order, and may change or refuse it', async () => {
    await started(() => undefined)
    const hub = it_.hub()
    const order: string[] = []
    hub.use(next => async request => {
      order.push('first')
      if (request.task === 'other:1.0') throw new HubError('Overloaded', 'not now')
      return next({ ...request, options: { keepResultMs: 1000, ...request.options } })
    })
    hub.use(next => async request => {
      order.push('second')
      return next({ ...request, args: { tenant: 1, args: request.args } })
    })
    // What is put around it has it tracked, which no type can know.
    const job = (await hub.enqueue('echo:1.0', 5)) as Job
    expect(await job.result()).toEqual({ tenant: 1, args: 5 })
    expect(order).toEqual(['first', 'second'])
    expect(await failure(hub.enqueue('other:1.0'))).toMatchObject({ code: 'Overloaded' })
    it_.allowLeftovers()
  })
})

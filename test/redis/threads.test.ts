import { existsSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { ConfigError, defineTask, type Task } from '../../src/index.ts'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'
import { type Told, useThreads } from '../support/threaded-worker.ts'

const it_ = useRedis()
const { file, library, makeWorker, startWorker, written } = useThreads(it_)

describe('a handler in a thread', () => {
  it('is given the same context, and its result goes the same way', async () => {
    await startWorker()
    const hub = it_.hub({ name: 'shop' })
    const told = (await hub.call('tell:1.0', { n: 1 }, { timeoutMs: 14_000 })) as Told
    expect(told).toMatchObject({
      args: { n: 1 },
      task: 'tell:1.0',
      from: 'shop',
      attempt: 1,
      isMainThread: false,
      runs: 1,
    })
    expect(told.id).toMatch(/^[\w-]{10,}$/)
    expect(told.remainingMs).toBeGreaterThan(0)
    expect(told.remainingMs).toBeLessThanOrEqual(14_000)
    // The thread stays, and its module with it.
    expect(await hub.call('tell:1.0')).toMatchObject({ threadId: told.threadId, runs: 2 })
    const job = await hub.enqueue('tell:1.0', { n: 2 }, { keepResultMs: 10_000 })
    expect(await job.result()).toMatchObject({ args: { n: 2 }, runs: 3 })
    it_.allowLeftovers()
  })

  const ends = [
    ...[
      'nothing',
      'null',
      'classes',
      'function',
      'circle',
      'unsendable',
      'deep',
      'proto',
      'large',
      'error',
      'text',
      'object',
    ],
    ...['nowhere', 'hostile', 'task', 'own', 'final', 'unclonable', 'hub', 'late'],
  ]

  it('ends as in the main thread, whatever it returns or throws', async () => {
    await startWorker({ slots: 4 })
    const hub = it_.hub()
    const end = async (task: string, how: string) => {
      try {
        return { result: await hub.call(task, { how }) }
      } catch (error) {
        const { code, message, retryable, status, data } = error as import('../../src/index.ts').HubError
        return { code, message: message.replaceAll(task, 'ending'), retryable, status, data }
      }
    }
    for (const how of ends) {
      const here = await end('ending_here:1.0', how)
      expect(here, how).not.toMatchObject({ code: 'Timeout' })
      expect(await end('ending:1.0', how), how).toEqual(here)
    }
  })

  it('has its arguments and its result checked in the main thread', async () => {
    await startWorker()
    const hub = it_.hub()
    expect(await failure(hub.call('checked:1.0', {}))).toMatchObject({ code: 'InvalidArgs' })
    expect(await failure(hub.call('checked:1.0', { n: 'one' }))).toMatchObject({ code: 'InvalidResult' })
    expect(await hub.call('checked:1.0', { n: 1 })).toBe(1)
  })

  it('has middleware around it in the main thread', async () => {
    const worker = makeWorker()
    worker.use(next => async (request, ctx) => {
      if (request.args === 'unclonable') return next({ ...request, args: { run: () => 1 } }, ctx)
      const result = (await next({ ...request, args: { changed: request.args } }, ctx)) as object
      return { ...result, around: true }
    })
    await worker.start()
    const hub = it_.hub()
    expect(await hub.call('tell:1.0', 1)).toMatchObject({ args: { changed: 1 }, around: true, isMainThread: false })
    const refused = await failure(hub.call('tell:1.0', 'unclonable'))
    expect(refused).toMatchObject({ code: 'TaskFailed', ran: 'yes' })
    expect(refused.message).toContain('The arguments of tell:1.0 cannot be sent to a thread')
    expect(await hub.call('tell:1.0', 2)).toMatchObject({ args: { changed: 2 } })
  })
})

describe('a call that it makes', () => {
  it('goes through the main thread, with the time that is left', async () => {
    await startWorker()
    const hub = it_.hub()
    const { answer } = (await hub.call('calling:1.0', { task: 'echo:1.0', args: { a: 1 } }, { timeoutMs: 13_000 })) as {
      answer: { remainingMs: number }
    }
    expect(answer).toMatchObject({ args: { a: 1 }, isMainThread: true })
    expect(answer.remainingMs).toBeLessThanOrEqual(13_000)
    expect(await hub.call('calling:1.0', { task: 'echo:1.0' })).toMatchObject({ answer: { args: {} } })
  })

  it('fails as in the main thread', async () => {
    await startWorker()
    const hub = it_.hub()
    const plain = (value: unknown) => JSON.stringify(value).replaceAll(/"id":"[^"]*"/g, '"id"')
    for (const task of ['failing:1.0', 'nobody:1.0', 'not a name']) {
      const { code, message, data } = await failure(hub.call('passing_here:1.0', { task }))
      const inThread = await failure(hub.call('passing:1.0', { task }))
      expect(plain(inThread.data)).toBe(plain(data))
      expect(inThread).toMatchObject({ code, message })
      expect(await hub.call('calling:1.0', { task })).toMatchObject({ caught: { isHubError: true } })
    }
  })

  it('is checked, ended by its own time, and by its own signal', async () => {
    await startWorker()
    const hub = it_.hub()
    const caught = async (args: object) => ((await hub.call('calling:1.0', args)) as { caught: object }).caught
    expect(await caught({ task: 'echo:1.0', args: 'unsendable' })).toMatchObject({
      isHubError: true,
      code: 'InvalidArgs',
    })
    // Expired where a busy machine does not come to it in time.
    expect(await caught({ task: 'slow:1.0', timeoutMs: 300 })).toMatchObject({
      isHubError: true,
      code: expect.stringMatching(/^(Timeout|Expired)$/),
    })
    expect(await caught({ task: 'slow:1.0', cancelMs: 100 })).toMatchObject({ code: 'Aborted' })
  })
})

describe('a call that it does not await', () => {
  it('is answered behind its end', async () => {
    await startWorker()
    const [begun, answered] = [file(), file()]
    expect(await it_.hub().call('leaving:1.0', { how: 'returns', begun, answered })).toBe('gone')
    await eventually(() => existsSync(begun))
    writeFileSync(answered, '')
    await eventually(() => existsSync(`${answered}-heard`))
  })

  it('is given up when its thread dies', async () => {
    await startWorker()
    const [begun, answered] = [file(), file()]
    const failed = await failure(it_.hub().call('leaving:1.0', { how: 'dies', begun, answered }))
    expect(failed.message).toContain('exited with code: 5')
    expect(await written(`${begun}-aborted`)).toBe('Aborted')
  })
})

describe('what cannot work is refused', () => {
  it('by defineTask', () => {
    for (const threads of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])
      expect(() => defineTask('a:1.0', { threads }, () => 1)).toThrow(/'threads' must be a whole number of at least 1/)
    expect(() => defineTask('a:1.0', { threads: '2' as never }, () => 1)).toThrow(ConfigError)
    expect(() => defineTask('a:1.0', { threads: 1, module: './a.mjs' }, () => 1)).toThrow(/import\.meta\.url/)
  })

  it('by a worker', () => {
    const task = (threads: number, module = {}) =>
      library().defineTask('a:1.0', { threads, ...module }, () => 1) as Task
    expect(() => makeWorker({ tasks: [task(1)] })).toThrow(/a:1\.0 has threads.*module: import\.meta\.url/)
    expect(() => makeWorker({ tasks: [task(9, { module: import.meta.url })] })).toThrow(/9 threads, but .* 8 slots/)
    expect(() => makeWorker({ tasks: [task(8, { module: import.meta.url })] })).not.toThrow()
  })
})

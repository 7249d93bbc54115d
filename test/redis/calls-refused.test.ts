import { Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { defineTask, HubError } from '../../src/index.ts'
import { ChaosProxy } from '../support/chaos-proxy.mjs'
import { delay } from '../support/delay.ts'
import { add, echo } from '../support/example-tasks.ts'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'

const it_ = useRedis()

/** The open sockets of this process. */
const sockets = () =>
  (process as unknown as { _getActiveHandles(): unknown[] })
    ._getActiveHandles()
    .filter(handle => handle instanceof Socket) as Socket[]

it('a call is not refused because the first look at the registry takes longer than Redis may be away', async () => {
  await it_.worker([echo])
  const proxy = await ChaosProxy.start(it_.server.port)
  it_.onEnd(() => proxy.stop())
  proxy.freeze()
  const call = it_.hub({ redis: proxy.url }).call('echo:1.0', 1, { timeoutMs: 60_000 })
  call.catch(() => undefined)
  await delay(1300, 'nothing is heard for more than a second, and nothing says that Redis is away')
  proxy.thaw()
  expect(await call).toBe(1)
})

describe('what is refused at once', () => {
  const refused = async (promise: Promise<unknown>, code: string, message: RegExp) => {
    const error = await failure(promise)
    expect(error).toBeInstanceOf(HubError)
    expect(error).toMatchObject({ code, ran: 'no', message: expect.stringMatching(message) })
  }

  it('an unknown task, with near names', async () => {
    await it_.worker([add])
    const hub = it_.hub()
    await refused(hub.call('my_tusk:1.0', {}), 'NoSuchTask', /Did you mean my_task:1\.0/)
    await refused(hub.call('my_task:3.0', {}), 'NoSuchTask', /Known versions: my_task:1\.0/)
    await refused(hub.call('no such', {}), 'NoSuchTask', /not a task name/)
    await refused(hub.call('constructor', {}), 'NoSuchTask', /No worker ever declared/)
    await refused(hub.call(undefined as never), 'NoSuchTask', /must be a name/)
    await it_.redis.hset(`${it_.namespace}:tasks`, 'torn:1.0', '{"task":')
    await refused(hub.call('torn:1.0', {}), 'NoSuchTask', /no readable card of torn:1\.0/)
  })

  it('a task whose workers are gone', async () => {
    const worker = await it_.worker([add])
    await worker.stop()
    await refused(it_.hub().call('my_task:1.0', { x: 1 }), 'NoWorkers', /pshub worker .*--queue q/)
  })

  it('a full backlog', async () => {
    const worker = await it_.worker(
      [
        defineTask(
          'slow:1.0',
          {},
          (_, ctx) => new Promise(resolve => ctx.signal.addEventListener('abort', () => resolve(1))),
        ),
      ],
      { slots: 1 },
    )
    const hub = it_.hub({ maxBacklog: 3 })
    const call = () => failure(hub.call('slow:1.0', {}, { timeoutMs: 1500 }))
    const running = call()
    await eventually(() => worker.busy === 1)
    const waiting = [running, call(), call(), call()]
    await eventually(async () => (await it_.redis.llen(`${it_.namespace}:{q}:calls`)) === 3)
    await refused(hub.call('slow:1.0', {}, { timeoutMs: 5000 }), 'Overloaded', /3 requests wait in queue q/)
    // When the slot becomes idle, the deadlines of those behind pass: the worker may say so before their hub's own timers do.
    const codes = (await Promise.all(waiting)).map(error => error.code)
    expect(codes).toEqual(Array(4).fill(expect.stringMatching(/^(Timeout|Expired)$/)))
    // The worker drops what expired as soon as its slot is idle.
    await eventually(async () => (await it_.redis.llen(`${it_.namespace}:{q}:calls`)) === 0)
  })

  it('a payload that is too large', async () => {
    await it_.worker([echo])
    await refused(
      it_.hub({ maxPayloadBytes: 2000 }).call('echo:1.0', 'ü'.repeat(1001)),
      'PayloadTooLarge',
      /larger than 2000 bytes/,
    )
  })

  it('a call of a closed hub', async () => {
    await it_.worker([echo])
    const hub = it_.hub()
    await hub.close()
    await refused(hub.call('echo:1.0'), 'HubClosed', /make a new one/)
  })

  it('a call of a hub that is being closed; its connections end without a word, and are gone then', async () => {
    it_.allowLeftovers()
    const never = defineTask('never:1.0', {}, () => new Promise(() => undefined))
    await it_.worker([never], { graceMs: 0 })
    const others = new Set(sockets())
    const hub = it_.hub()
    const down: string[] = []
    hub.events.on('redis:down', ({ reason }) => down.push(reason))
    const sent = new Promise(resolve => hub.events.on('queue:pushed', resolve))
    const call = failure(hub.call('never:1.0'))
    await sent
    const own = sockets().filter(socket => !others.has(socket))
    expect(own.length).toBeGreaterThan(0)
    await hub.close()
    expect(own.filter(({ destroyed }) => !destroyed)).toEqual([])
    expect((await call).code).toBe('Aborted')
    expect(down).toEqual([])
  })

  it('calls of a hub that is closed, of which none waits or runs for nobody then', async () => {
    // A worker answers what it is told to stop, and nobody reads that.
    it_.allowLeftovers()
    const ended: string[] = []
    const long = defineTask('long:1.0', {}, (_, { signal }) => {
      return new Promise(resolve => {
        signal.addEventListener('abort', () => resolve(ended.push(signal.reason.code)), { once: true })
      })
    })
    const worker = await it_.worker([long], { slots: 1 })
    const hub = it_.hub()
    const calls = [0, 1, 2].map(() => failure(hub.call('long:1.0', {}, { timeoutMs: 20_000 })))
    const waiting = () => it_.redis.llen(`${it_.namespace}:{q}:calls`)
    await eventually(async () => (await waiting()) === 2)
    // This one is on its way when the hub is closed.
    calls.push(failure(hub.call('long:1.0', {}, { timeoutMs: 20_000 })))
    await new Promise(resolve => process.nextTick(resolve))
    await hub.close()
    expect(await waiting()).toBe(0)
    expect((await Promise.all(calls)).map(({ code }) => code)).toEqual(['Aborted', 'Aborted', 'Aborted', 'Aborted'])
    await eventually(() => ended.length === 1 && worker.busy === 0)
    expect(ended).toEqual(['Aborted'])
  })

  it('a call with no time left or a bad time', async () => {
    await it_.worker([echo])
    const hub = it_.hub()
    await refused(hub.call('echo:1.0', {}, { timeoutMs: 0 }), 'Expired', /No time is left/)
    await refused(hub.call('echo:1.0', {}, { timeoutMs: 'soon' as never }), 'InvalidArgs', /timeoutMs must be a number/)
  })
})

import { describe, expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { command } from '../../src/redis/client.ts'
import { Connection } from '../../src/redis/connection.ts'
import { ConnectionLost } from '../../src/redis/failures.ts'
import { ChaosProxy } from '../support/chaos-proxy.mjs'
import { HoldingProxy } from '../support/holding-proxy.ts'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'

const it_ = useRedis()

const startProxy = async () => {
  const proxy = await HoldingProxy.start(it_.server.port)
  it_.onEnd(() => proxy.stop())
  return proxy
}

const connect = async (url: string, stallMs = 300) => {
  const downs: string[] = []
  const connection = new Connection({
    target: url,
    name: 'test',
    stallMs,
    onDown: reason => downs.push(reason.message),
  })
  it_.onEnd(() => connection.close())
  connection.open()
  await connection.whenReady()
  return { connection, downs }
}

const calls = (name: string) => (chunk: string) =>
  new RegExp(`fcall\\r\\n\\$\\d+\\r\\npshub_1_${name}\\r`, 'i').test(chunk)

describe('a command that arrives after its connection was given up', () => {
  it('does not run once the next connection is ready', async () => {
    const proxy = await startProxy()
    const { connection } = await connect(proxy.url)
    const key = `${it_.namespace}:late`
    it_.onEnd(() => it_.redis.del(key))
    proxy.holdFrom = chunk => chunk.includes('set')
    const lost = failure(connection.send(client => command(client, 'set', key, 'late')))
    expect(await lost).toBeInstanceOf(ConnectionLost)
    await connection.whenReady()
    await connection.send(client => command(client, 'set', key, 'again'))
    expect(await proxy.deliver()).toBe('closed')
    expect(await it_.redis.get(key)).toBe('again')
  })

  it('may run where the user has no right to end connections, and nothing else suffers', async () => {
    const proxy = await startProxy()
    await it_.redis.call('ACL', 'SETUSER', 'unfenced', 'on', 'nopass', '~*', '+@all', '-client|kill', '-client|info')
    it_.onEnd(() => it_.redis.call('ACL', 'DELUSER', 'unfenced'))
    const { connection } = await connect(proxy.url.replace('redis://', 'redis://unfenced:any@'))
    proxy.holdFrom = chunk => chunk.includes('ping')
    expect(await failure(connection.send(client => command(client, 'ping')))).toBeInstanceOf(ConnectionLost)
    await connection.whenReady()
    expect(await connection.send(client => command(client, 'ping'))).toBe('PONG')
    expect(await proxy.deliver()).toBe('answered')
  })

  it('settles no later run of its job', async () => {
    const proxy = await startProxy()
    const runs: number[] = []
    let finish = () => {}
    const finished = new Promise<void>(resolve => (finish = resolve))
    const task = defineTask('t:1.0', { keyed: 'ordered', retries: 5, backoff: 50 }, async args => {
      runs.push((args as { job: number }).job)
      if (runs.length === 1) throw new Error('the first run fails')
      await finished
    })
    proxy.holdFrom = calls('settle')
    await it_.worker([task], { redis: proxy.url })
    const hub = it_.hub()
    await hub.enqueue('t:1.0', { job: 1 }, { key: 'k' })
    await hub.enqueue('t:1.0', { job: 2 }, { key: 'k' })
    await eventually(() => runs.length === 2)
    expect(await proxy.deliver()).toBe('closed')
    // Idle and direct: it would take the second job if its key were free.
    const other = await it_.worker([task])
    await hub.enqueue('t:1.0', { job: 3 }, { key: 'another' })
    await eventually(() => runs.includes(3))
    expect(runs).toEqual([1, 1, 3])
    finish()
    await eventually(() => runs.includes(2))
    await other.stop()
  })

  it('puts no step of a chain in twice', async () => {
    const proxy = await startProxy()
    const runs: string[] = []
    const run = (args: unknown) => void runs.push((args as { step: string }).step)
    const task = defineTask('t:1.0', {}, run)
    proxy.holdFrom = calls('forward')
    await it_.worker([task], { redis: proxy.url, queue: 'one' })
    await it_.worker([task], { queue: 'two' })
    const hub = it_.hub()
    await hub.chain([
      ['t:1.0', { step: 'first' }, { queue: 'one' }],
      ['t:1.0', { step: 'second' }, { queue: 'two' }],
    ])
    await eventually(() => runs.includes('second'))
    // What remembers that it came goes behind that.
    await eventually(async () => (await it_.keys()).every(key => !key.includes(':came:')))
    expect(await proxy.deliver()).toBe('closed')
    await hub.enqueue('t:1.0', { step: 'behind' }, { queue: 'two' })
    await eventually(() => runs.includes('behind'))
    expect(runs).toEqual(['first', 'second', 'behind'])
    it_.allowLeftovers()
  })

  it('takes no reply away', async () => {
    const proxy = await startProxy()
    await it_.worker([defineTask('t:1.0', {}, () => 'here')])
    const hub = it_.hub({ redis: proxy.url })
    const call = () => hub.call('t:1.0', {}, { timeoutMs: 8000 })
    await call()
    proxy.holdFrom = chunk => chunk.includes('blmove')
    expect(await call()).toBe('here')
    expect(await proxy.deliver()).toBe('closed')
    expect(await call()).toBe('here')
  })
})

describe('a settle whose answer was lost', () => {
  it('counts its failure once, though the job runs again before it is sent again', async () => {
    it_.allowLeftovers()
    // Has the turn, and takes no jobs.
    await it_.worker([defineTask('t:1.0', {}, () => 0)], { jobSlots: 0 })
    const proxy = await startProxy()
    let first = () => {}
    const settledTwice = new Promise<void>(resolve => (first = resolve))
    let settles = 0
    proxy.deafFrom = chunk => {
      if (!calls('settle')(chunk)) return false
      if (++settles === 2) first()
      return settles === 1
    }
    let runs = 0
    const task = defineTask('t:1.0', { retries: 2, backoff: 50 }, async (_, { attempt }) => {
      runs++
      // It runs until the settle of the first run was sent again.
      if (attempt === 2) await settledTwice
      throw new Error(`run ${runs}, attempt ${attempt}`)
    })
    await it_.worker([task], { redis: proxy.url })
    const hub = it_.hub()
    await hub.enqueue('t:1.0', {}, { tracked: true })
    await eventually(async () => (await hub.dead('q').list()).length === 1)
    const [dead] = await hub.dead('q').list()
    expect(dead!.errors.map(({ message }) => message)).toEqual([
      'run 1, attempt 1',
      'run 2, attempt 2',
      'run 3, attempt 3',
    ])
  })
})

describe('an upload', () => {
  it('that a slow link takes longer for than silence may last is no silence', async () => {
    const proxy = await ChaosProxy.start(it_.server.port)
    it_.onEnd(() => proxy.stop())
    const { connection, downs } = await connect(proxy.url)
    const key = `${it_.namespace}:large`
    it_.onEnd(() => it_.redis.del(key))
    proxy.bytesPerSecond = 300_000
    await connection.send(client => command(client, 'set', key, 'x'.repeat(300_000)))
    expect(downs).toEqual([])
  })
})

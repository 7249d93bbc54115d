import { describe, expect, it } from 'vitest'
import { JobQueue } from '../../src/queue/job-queue.ts'
import { command } from '../../src/redis/client.ts'
import { Connection } from '../../src/redis/connection.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { useRedis } from '../support/hub-fixture.ts'

const it_ = useRedis()

const written = { cron: '0 0 1 1 *' }
const ticks = () => `${it_.namespace}:{q}:ticks`
const cron = () => `${it_.namespace}:{q}:cron`

/** A schedule of a queue without a worker, with a time that has passed. */
const dueSchedule = async () => {
  const hub = it_.hub()
  it_.allowLeftovers()
  await hub.schedule('yearly', written, 't:1.0', {}, { queue: 'q' })
  await it_.redis.zadd(ticks(), 1000, 'yearly')
  return hub
}

describe('a schedule that is written again, as at each deployment', () => {
  it('keeps a time that has passed and was not taken yet', async () => {
    const hub = await dueSchedule()
    const { nextMs } = await hub.schedule('yearly', written, 't:1.0', {}, { queue: 'q' })
    expect(nextMs).toBe(1000)
    expect(await it_.redis.zscore(ticks(), 'yearly')).toBe('1000')
  })

  it('has a new time where anything of it is new', async () => {
    const hub = await dueSchedule()
    const { nextMs } = await hub.schedule('yearly', { cron: '0 0 2 1 *' }, 't:1.0', {}, { queue: 'q' })
    expect(nextMs).toBeGreaterThan(Date.now())
  })

  it('stays paused when it was paused after it had been read', async () => {
    const hub = await dueSchedule()
    const before = (await it_.redis.hget(cron(), 'yearly'))!
    await hub.schedules('q').pause('yearly')
    const connection = new Connection({ target: it_.url, name: 'test', stallMs: 2000 })
    it_.onEnd(() => connection.close())
    connection.open()
    await connection.whenReady()
    const queue = new JobQueue('q', makeKeys(it_.namespace))
    const isWritten = await connection.send(client => queue.schedule(client, 'yearly', before, 5000, before))
    expect(isWritten).toBe(false)
    const paused = await connection.send(client => command(client, 'hget', cron(), 'yearly'))
    expect(JSON.parse(String(paused)).pausedMs).toBeGreaterThan(0)
  })
})

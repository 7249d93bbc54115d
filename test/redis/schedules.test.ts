import { describe, expect, it } from 'vitest'
import { defineTask, type EventMap } from '../../src/index.ts'
import { nextOf } from '../../src/jobs/cron.ts'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'
import { queueKeys } from '../support/queue-keys.ts'

/** Jobs at their times. */
const it_ = useRedis()
const keys = () => queueKeys(it_)

const noting = () => {
  const runs: { at: number; args: unknown }[] = []
  const task = defineTask('tick:1.0', {}, args => runs.push({ at: Date.now(), args }))
  return { task, runs }
}
/** The first moment behind this one, as it is written. */
const following = (cron: string, timezone: string | undefined, moment: string) =>
  new Date(nextOf({ cron, timezone }, Date.parse(moment))!).toISOString()

describe('the times of a schedule', () => {
  it('are those of its time zone, over the changes of the clocks, too', () => {
    expect(following('0 3 * * *', undefined, '2026-11-22T12:00:00Z')).toBe('2026-11-23T03:00:00.000Z')
    expect(following('0 3 * * *', 'Europe/Berlin', '2026-11-22T12:00:00Z')).toBe('2026-11-23T02:00:00.000Z')
    expect(following('0 3 * * *', 'Europe/Berlin', '2026-07-01T12:00:00Z')).toBe('2026-07-02T01:00:00.000Z')
    // 02:30 does not exist on the 29th of March there, and comes twice on the 25th of October.
    const spring = [following('30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00:00Z')]
    spring.push(following('30 2 * * *', 'Europe/Berlin', spring[0]!))
    expect(spring[1]).toBe('2026-03-30T00:30:00.000Z')
    const autumn = [following('30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00:00Z')]
    autumn.push(following('30 2 * * *', 'Europe/Berlin', autumn[0]!))
    expect(autumn[1]).toBe('2026-10-26T01:30:00.000Z')
    expect(following('*/10 * * * * *', undefined, '2026-11-22T12:00:01Z')).toBe('2026-11-22T12:00:10.000Z')
  })
})

describe('a schedule', () => {
  it('has its job enqueued once at each of its times, however many workers there are', async () => {
    const { task, runs } = noting()
    const workers = await Promise.all([1, 2, 3].map(() => it_.worker([task])))
    const ticks: EventMap['schedule:tick'][] = []
    for (const worker of workers) worker.events.on('schedule:tick', event => ticks.push(event))
    const hub = it_.hub({ name: 'shop' })
    const schedule = await hub.schedule('each-second', { cron: '* * * * * *' }, task, { n: 1 })
    expect(schedule).toMatchObject({ name: 'each-second', queue: 'q', task: 'tick:1.0', pausedMs: undefined })
    await eventually(() => runs.length >= 3)
    const [listed] = await hub.schedules('q').list()
    expect(listed!.lastMs).toBeGreaterThanOrEqual(ticks[0]!.tickMs)
    expect(await hub.schedules('q').remove('each-second')).toBe(true)
    expect(ticks.map(({ tickMs }) => tickMs)).toEqual([...new Set(ticks.map(({ tickMs }) => tickMs))])
    expect(ticks.every(({ tickMs }) => tickMs % 1000 === 0)).toBe(true)
    expect(await it_.redis.exists(keys().cron, keys().ticks)).toBe(0)
  }, 15_000)

  it('is run once while the twin of its unique job waits, and returns that', async () => {
    const hub = it_.hub()
    await hub.schedule('u', { cron: '0 3 * * *' }, 'tick:1.0', {}, { queue: 'q', unique: true, tracked: true })
    const [first, second] = [await hub.schedules('q').run('u'), await hub.schedules('q').run('u')]
    expect(second).toMatchObject({ id: first!.id, isTwin: true })
    expect(await second!.cancel()).toBe(true)
    it_.allowLeftovers()
  })

  it('is listed, paused, run now, goes on, and is removed', async () => {
    const { task, runs } = noting()
    await it_.worker([task])
    const hub = it_.hub()
    const times = { cron: '0 3 * * *', timezone: 'Europe/Berlin' }
    await hub.schedule('nightly', times, 'tick:1.0', { month: 11 }, { retries: 2 })
    await hub.schedule('early', { cron: '0 1 * * *' }, 'tick:1.0')
    const schedules = hub.schedules('q')
    const [early, nightly] = await schedules.list()
    expect([early!.name, nightly!.name]).toEqual(['early', 'nightly'])
    expect(nightly).toMatchObject({ ...times, missed: 'once', args: { month: 11 }, nextMs: nextOf(times, Date.now()) })
    expect(nightly!.lastMs).toBe(undefined)
    expect(await schedules.pause('nightly')).toBe(true)
    expect((await schedules.list())[1]).toMatchObject({ nextMs: undefined, pausedMs: expect.any(Number) })
    // Written anew by the next deployment, it stays so.
    await hub.schedule('nightly', times, 'tick:1.0', { month: 12 })
    expect((await schedules.list())[1]).toMatchObject({ nextMs: undefined, args: { month: 12 } })
    const ranMs = Date.now()
    await schedules.run('nightly')
    await eventually(() => runs.length === 1)
    expect(runs[0]!.args).toEqual({ month: 12 })
    expect((await schedules.list())[1]!.lastMs).toBeGreaterThanOrEqual(ranMs - 1)
    expect(await hub.schedule('nightly', times, 'tick:1.0')).toMatchObject({ lastMs: expect.any(Number) })
    expect(await schedules.resume('nightly')).toBe(true)
    expect((await schedules.list())[1]!.nextMs).toBe(nextOf(times, Date.now()))
    expect([await schedules.remove('nightly'), await schedules.remove('nightly')]).toEqual([true, false])
    expect([await schedules.pause('nightly'), await schedules.run('nightly')]).toEqual([false, undefined])
    await schedules.remove('early')
  })

  it('whose times were missed comes once for all of them, or not at all', async () => {
    const { task, runs } = noting()
    const hub = it_.hub()
    const hourAgo = Date.now() - 3_600_000
    for (const missed of ['once', 'skip'] as const) {
      await hub.schedule(missed, { cron: '* * * * *', missed }, 'tick:1.0', missed, { queue: 'q' })
      await it_.redis.zadd(keys().ticks, hourAgo, missed)
    }
    const worker = await it_.worker([task])
    const skipped = new Promise<EventMap['schedule:tick']>(resolve =>
      worker.events.on('schedule:tick', event => event.isSkipped && resolve(event)),
    )
    expect(await skipped).toMatchObject({ name: 'skip', tickMs: hourAgo })
    await eventually(() => runs.length >= 1)
    expect(runs.filter(({ args }) => args === 'once')).toHaveLength(1)
    const list = await hub.schedules('q').list()
    for (const { nextMs } of list) expect(nextMs).toBeGreaterThan(hourAgo + 3_590_000)
    for (const { name } of list) await hub.schedules('q').remove(name)
  })

  it('is refused with what is wrong', async () => {
    await it_.worker([noting().task])
    const hub = it_.hub()
    const wrong: [string, object, RegExp][] = [
      ['no name!', { cron: '* * * * *' }, /its name must be/],
      ['x', { cron: 'daily' }, /cron 'daily'/],
      ['x', { cron: 5 }, /cron must be a string/],
      ['x', { cron: '* * * * *', timezone: 'Mars/Olympus' }, /Mars\/Olympus/],
      ['x', { cron: '* * * * *', missed: 'never' }, /missed must be/],
      ['x', { cron: '* * * * *', every: 5 }, /there is no option 'every'/],
      ['x', { cron: '0 0 30 2 *' }, /no run time in the future/],
    ]
    for (const [name, times, message] of wrong) {
      const error = await failure(hub.schedule(name, times as never, 'tick:1.0'))
      expect(error, JSON.stringify(times)).toMatchObject({
        code: 'InvalidArgs',
        message: expect.stringMatching(message),
      })
    }
    for (const own of [{ delayMs: 1000 }, { at: new Date() }]) {
      // @ts-expect-error not of a schedule
      const refused = await failure(hub.schedule('x', { cron: '* * * * *' }, 'tick:1.0', {}, own))
      expect(refused).toMatchObject({
        code: 'InvalidArgs',
        message: expect.stringContaining('is not an option of schedules'),
      })
    }
    expect(await failure(hub.schedule('x', { cron: '* * * * *' }, 'nobody:1.0'))).toMatchObject({ code: 'NoSuchTask' })
  })
})

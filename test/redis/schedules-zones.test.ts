import { expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { eventually, useRedis } from '../support/hub-fixture.ts'
import { queueKeys } from '../support/queue-keys.ts'

const it_ = useRedis()
const noting = (runs: unknown[]) => defineTask('tick:1.0', {}, args => void runs.push(args))
/** As somebody wrote it who knows this time zone. */
const entryIn = (timezone: string, args: string) =>
  JSON.stringify({ cron: '* * * * *', timezone, task: 'tick:1.0', args })

it('a schedule in a time zone that is not known here is left to others, with one line and a reason, and disturbs none', async () => {
  const { redis } = it_
  const { cron, ticks } = queueKeys(it_)
  const past = Date.now() - 60_000
  const names = Array.from({ length: 25 }, (_, n) => `far-${n}`)
  await redis.hset(cron, {
    ...Object.fromEntries(names.map(name => [name, entryIn('Mars/Olympus', '1')])),
    near: entryIn('US/Eastern', '2'),
  })
  for (const name of names) await redis.zadd(ticks, past, name)
  await redis.zadd(ticks, past + 1, 'near')
  const runs: unknown[] = []
  const worker = await it_.worker([noting(runs)])
  const problems: string[] = []
  worker.events.on('problem', ({ reason }) => problems.push(reason))
  await eventually(() => runs.length >= 1)
  await redis.zadd(ticks, past + 1, 'near')
  await eventually(() => runs.length >= 2)
  await eventually(() => problems.length === names.length)
  expect(problems[0]).toMatch(
    /^The schedule far-0 is left to workers that know its time zone: Mars\/Olympus is not among the time zones of Node/,
  )
  const schedules = it_.hub().schedules('q')
  const far = (await schedules.list()).find(({ name }) => name === 'far-0')
  expect(far).toMatchObject({ nextMs: past, problem: expect.stringMatching(/^Mars\/Olympus is not among/) })
  await expect(schedules.resume('far-0')).rejects.toMatchObject({ code: 'InvalidArgs' })
  // One who knows it.
  await redis.hset(cron, 'far-0', entryIn('US/Eastern', '3'))
  await eventually(() => runs.includes(3))
  expect((await schedules.list()).find(({ name }) => name === 'far-0')).toMatchObject({ problem: undefined })
  await redis.del(cron, ticks)
})

it('what whoever has the turn leaves is taken by another worker', async () => {
  const { redis } = it_
  const { cron, ticks, ticker } = queueKeys(it_)
  await redis.set(ticker, 'another', 'PX', 600_000)
  await redis.hset(cron, 'left', entryIn('US/Eastern', '1'))
  await redis.zadd(ticks, Date.now() - 60_000, 'left')
  const runs: unknown[] = []
  await it_.worker([noting(runs)])
  await eventually(() => runs.length >= 1)
  await redis.del(cron, ticks, ticker)
})

it('its last time is that at which its job was enqueued, not one at which that was there already', async () => {
  const { redis } = it_
  const { ticks } = queueKeys(it_)
  let end = () => {}
  const ended = new Promise<void>(resolve => {
    end = resolve
  })
  const worker = await it_.worker([defineTask('tick:1.0', {}, () => ended)])
  const told: number[] = []
  worker.events.on('schedule:tick', ({ tickMs }) => told.push(tickMs))
  const hub = it_.hub()
  await hub.schedule('s', { cron: '0 0 1 1 *' }, 'tick:1.0', {}, { unique: true })
  const schedules = hub.schedules('q')
  await redis.zadd(ticks, 1000, 's')
  await eventually(() => told.includes(1000))
  const [{ lastMs } = { lastMs: undefined }] = await schedules.list()
  expect(lastMs).toEqual(expect.any(Number))
  await redis.zadd(ticks, 2000, 's')
  await eventually(() => told.includes(2000))
  expect(await schedules.run('s')).toMatchObject({ isTwin: true })
  expect((await schedules.list())[0]!.lastMs).toBe(lastMs)
  await schedules.remove('s')
  end()
  it_.allowLeftovers()
})

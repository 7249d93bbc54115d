import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { defineTask, prometheusText, TaskError } from '../../src/index.ts'
import { type Logger, subscribeLog } from '../../src/outlets/log.ts'
import { delay } from '../support/delay.ts'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'
import { type StatsdDaemon, startStatsd } from '../support/statsd-daemon.ts'

const server = useRedis()

let daemon: StatsdDaemon
beforeAll(async () => {
  daemon = await startStatsd()
})
afterAll(() => daemon.stop())

const pay = defineTask('pay:1.0', {}, async args => {
  await delay(2, 'a run that is slow enough to be kept')
  throw new TaskError('no', args as { code: string; status?: number })
})

describe('a code that a handler chose', () => {
  it('is told and counted everywhere, and what its status declares as expected is no failure', async () => {
    const statsd = { statsd: `127.0.0.1:${daemon.port}`, statsdFormat: 'graphite', statsdFlushMs: 50 } as const
    const worker = await server.worker([pay], { ...statsd, statsdPrefix: 'worker.' })
    const lines: { level: string; msg: string; code: string; stack?: string }[] = []
    const levels = Object.fromEntries(
      ['debug', 'info', 'warn', 'error'].map(level => [
        level,
        (fields: { code: string; stack?: string }, msg: string) => lines.push({ ...fields, level, msg }),
      ]),
    )
    subscribeLog(worker.events, { ...levels, isLevelEnabled: () => false } as unknown as Logger)
    const hub = server.hub({ ...statsd, statsdPrefix: 'hub.' })
    for (const args of [{ code: 'BankAway' }, { code: 'CardDeclined', status: 402 }])
      expect((await failure(hub.call('pay:1.0', args))).code).toBe(args.code)
    const overview = (await eventually(async () => {
      const seen = await hub.overview()
      // A task's figures and its worker's come with different beats.
      const counted = seen.load.us.exec?.count === 2 && seen.workers[0]?.stats?.counters.failed === 1
      return counted ? seen : undefined
    }))!
    const counts = { rejected: { CardDeclined: 1 }, failed: { BankAway: 1 } }
    expect(overview.tasks[0]).toMatchObject({
      totals: { ok: 0, ...counts },
      load: { ...counts, notRun: {}, errorRate: 0.5 },
    })
    expect(overview.workers[0]?.stats?.counters).toMatchObject({ ok: 0, rejected: 1, failed: 1 })
    expect(prometheusText(overview)).toMatch(/outcome="rejected",code="CardDeclined"\} 1\n/)
    expect((await hub.slowCalls()).map(({ code }) => code).sort()).toEqual(['BankAway', 'CardDeclined'])
    // Where it would make room for nothing else.
    expect((await hub.failures()).map(({ code }) => code)).toEqual(['BankAway'])
    await eventually(() => Object.keys(daemon.flushed.counters).length >= 4)
    expect(daemon.flushed.counters).toMatchObject({
      'hub.call.failed.pay_1_0.BankAway': 1,
      'hub.call.rejected.pay_1_0.CardDeclined': 1,
      'worker.worker.failed.q.pay_1_0.BankAway': 1,
      'worker.worker.rejected.q.pay_1_0.CardDeclined': 1,
    })
    expect(lines.filter(({ code }) => code !== undefined)).toMatchObject([
      { level: 'warn', msg: 'task failed', code: 'BankAway', stack: expect.stringContaining('TaskError') },
      { level: 'info', msg: 'task rejected', code: 'CardDeclined' },
    ])
    expect(lines.find(({ code }) => code === 'CardDeclined')).not.toHaveProperty('stack')
  })

  it('is counted as Other beyond fifty of a task', async () => {
    const statsd = { statsd: `127.0.0.1:${daemon.port}`, statsdFormat: 'graphite', statsdFlushMs: 50 } as const
    await server.worker([pay], { slots: 20 })
    const hub = server.hub({ ...statsd, statsdPrefix: 'many.' })
    const codes = Array.from({ length: 60 }, (_, n) => `Made${n}`)
    await Promise.all(
      codes.map(code => failure(hub.call('pay:1.0', { code, status: 400 + (Number(code.slice(4)) % 2) * 100 }))),
    )
    const totals = (await eventually(async () => {
      const [task] = (await hub.overview()).tasks
      return task?.load.us.exec?.count === 60 ? task.totals : undefined
    }))!
    expect(Object.keys({ ...totals.rejected, ...totals.failed })).toHaveLength(51)
    expect(totals.rejected.Other! + totals.failed.Other!).toBe(10)
    const sent = () => Object.entries(daemon.flushed.counters).filter(([name]) => name.startsWith('many.'))
    await eventually(() => sent().reduce((sum, [, count]) => sum + count, 0) === 60)
    expect(new Set(sent().map(([name]) => name.split('.').at(-1))).size).toBe(51)
  })
})

import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Registrar } from '../../src/catalogue/registrar.ts'
import { Events } from '../../src/figures/events.ts'
import { LoopDelay } from '../../src/figures/loop-delay.ts'
import { defineTask } from '../../src/index.ts'
import type { Queue } from '../../src/queue/queue.ts'
import type { Connection } from '../../src/redis/connection.ts'
import { readSettings } from '../../src/settings/read.ts'
import { RedisClock } from '../../src/wire/redis-clock.ts'
import type { Executor } from '../../src/worker/executor.ts'
import { Measures } from '../../src/worker/measures.ts'
import { Intake } from '../../src/worker/roles/intake.ts'
import { SlotPool } from '../../src/worker/slot-pool.ts'
import { Slots } from '../../src/worker/slots.ts'
import { contextOf } from '../support/role-context.ts'

afterEach(() => void vi.restoreAllMocks())

describe("a worker's failures", () => {
  it('have the time when they ended, also where all slots were taken for long: beats tell it', async () => {
    let now = 1000
    vi.spyOn(performance, 'now').mockImplementation(() => now)
    const slots = new Slots(new SlotPool(1, 1))
    const clock = new RedisClock()
    const events = new Events()
    const measures = new Measures({ queueName: 'q', slots, clock, events, loop: new LoopDelay() })
    const error = { code: 'TaskFailed' as const, message: 'no', retryable: false }
    let end = () => {}
    const start: Executor['start'] = (_request, _receivedAt, _remainingMs, onEnd) => {
      end = () =>
        onEnd({ outcome: { ok: false, error, thrown: undefined }, queueMs: 0, execMs: 60_000, wasAborted: false })
      return true
    }
    const settled: string[] = []
    const context = contextOf({
      settings: readSettings('worker', {}),
      tasks: new Map([['a:1.0', defineTask('a:1.0', {}, () => null)]]),
      queue: { name: 'q' } as Queue,
      executor: { has: () => true, start } as unknown as Executor,
      slots,
      clock,
      measures,
      events,
      workerId: () => 'w',
      settle: { add: ({ id }) => void settled.push(id) },
      commands: {} as Connection,
      registrar: {} as Registrar,
      problem: () => () => undefined,
    })
    const intake = new Intake(context)
    const startedUs = 1_795_220_163_000_000
    const requests = [{ text: '{"id":"a","task":"a:1.0"}', madeUpId: undefined, isJob: false }]
    intake.take({ nowUs: startedUs, requests, expired: 0, left: 0, jobsLeft: 0 }, 'w', 0)
    for (let second = 1; second <= 60; second++) {
      now += 1000
      clock.learn(startedUs + second * 1_000_000, now)
    }
    end()
    await intake.idle()
    expect(settled).toEqual(['a'])
    const { failures } = measures.texts(false)
    expect(JSON.parse(failures!)['a:1.0']).toEqual([
      { id: 'a', at: startedUs + 60_000_000, code: 'TaskFailed', message: 'no', execUs: 60_000_000 },
    ])
  })
})

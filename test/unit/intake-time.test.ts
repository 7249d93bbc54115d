import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Executor } from '../../src/executor.ts'
import { Measures } from '../../src/measures.ts'
import { Intake } from '../../src/roles/intake.ts'
import { RunTimes } from '../../src/runtimes.ts'
import { Slots } from '../../src/slots.ts'
import { Events } from '../../src/telemetry.ts'

afterEach(() => void vi.restoreAllMocks())

describe("a worker's failures", () => {
  it('have the time when they ended, also where all slots were taken for long: beats tell it', async () => {
    let now = 1000
    vi.spyOn(performance, 'now').mockImplementation(() => now)
    const slots = new Slots(1, 1)
    const measures = new Measures(slots)
    const error = { code: 'TaskFailed' as const, message: 'no' }
    let end = () => {}
    const start: Executor['start'] = (_request, _receivedAt, _remainingMs, onEnd) => {
      end = () => onEnd({ outcome: { ok: false, error, thrown: undefined }, queueMs: 0, execMs: 60_000 })
      return true
    }
    const settled: string[] = []
    const intake = new Intake({
      namespace: 'pshub',
      queueName: 'q',
      executor: { has: () => true, start } as unknown as Executor,
      slots,
      counters: { ok: 0, failed: 0, expired: 0, malformed: 0, unserved: 0 },
      measures,
      runTimes: new RunTimes(),
      events: new Events(),
      workerId: () => 'w',
      settle: ({ id }) => settled.push(id),
      unserved: () => undefined,
      handBack: async () => undefined,
      onSlotsIdle: () => undefined,
      timeoutMsOf: () => 100_000,
      isIdempotent: () => false,
      runsAtLeastMs: () => 0,
    })
    const startedUs = 1_795_220_163_000_000
    const requests = [{ text: '{"id":"a","task":"a:1.0"}', madeUpId: undefined, isJob: false, isTaken: false }]
    intake.take({ nowUs: startedUs, requests, hopeless: [], expired: 0, left: 0, jobsLeft: 0 }, 'w', 0)
    for (let second = 1; second <= 60; second++) {
      now += 1000
      intake.learnTime(startedUs + second * 1_000_000)
    }
    end()
    await intake.idle()
    expect(settled).toEqual(['a'])
    const { failures } = measures.texts(false)
    expect(JSON.parse(failures!)['a:1.0']).toEqual([
      { id: 'a', at: startedUs + 60_000_000, ...error, execUs: 60_000_000 },
    ])
  })
})

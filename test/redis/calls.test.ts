import { describe, expect, expectTypeOf, it } from 'vitest'
import {
  type CallOptions,
  type CallPhases,
  defineTask,
  type EventMap,
  TaskError,
  type WithPhases,
} from '../../src/index.ts'
import { delay } from '../support/delay.ts'
import { add, echo } from '../support/example-tasks.ts'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'

const it_ = useRedis()

const versioned = (version: string) => defineTask(`greet:${version}`, {}, () => version)

describe('a call', () => {
  it('is typed when it is given the task itself', async () => {
    await it_.worker([add])
    const result = await it_.hub().call(add, { x: 1 })
    expectTypeOf(result).toEqualTypeOf<{ x: number }>()
    expect(result).toEqual({ x: 11 })
  })
})

describe('phases', () => {
  const options = {
    args: { type: 'object', properties: { ms: { type: 'number' } } },
    result: { type: 'object', properties: { slept: { type: 'number' } }, required: ['slept'] },
  } as const
  const nap = defineTask('nap:1.0', options, async args => {
    await delay(args.ms ?? 0, 'its run time is measured')
    if (args.ms === 31) throw new TaskError('no')
    return { slept: args.ms ?? 0 }
  })
  /** They are told apart, and together they are the whole wait. */
  const checked = (phases: CallPhases | undefined, leastExecMs: number): CallPhases => {
    const { backlog, queue, exec, reply, total } = phases!
    expect(exec).toBeGreaterThanOrEqual(leastExecMs * 1000 - 1000)
    for (const part of [backlog, queue, exec, reply]) expect(part).toBeGreaterThanOrEqual(0)
    expect(Number.isInteger(total)).toBe(true)
    expect(backlog + queue + exec + reply).toBe(total)
    return phases!
  }

  it('come with the result when they are asked for', async () => {
    await it_.worker([nap])
    const hub = it_.hub()
    const settled: EventMap['call:settled'][] = []
    const plain = await hub.call(nap, { ms: 1 })
    expectTypeOf(plain).toEqualTypeOf<{ slept: number }>()
    expect(plain).toEqual({ slept: 1 })
    hub.events.on('call:settled', event => settled.push(event))
    const startedAt = performance.now()
    const answer = await hub.call(nap, { ms: 30 }, { phases: true })
    const waitedMs = performance.now() - startedAt
    expectTypeOf(answer).toEqualTypeOf<WithPhases<{ slept: number }>>()
    expect(answer.result).toEqual({ slept: 30 })
    const { total } = checked(answer.phases, 30)
    expect(total / 1000).toBeLessThanOrEqual(waitedMs + 1)
    expect(settled[0]!.us).toEqual(answer.phases)
    const either = (options: CallOptions) => hub.call(nap, { ms: 1 }, options)
    expectTypeOf(await either({})).toEqualTypeOf<{ slept: number } | WithPhases<{ slept: number }>>()
    const byName = await hub.call('nap:1.0', { ms: 2 }, { phases: true })
    expectTypeOf(byName).toEqualTypeOf<WithPhases>()
    expect(byName).toMatchObject({ result: { slept: 2 }, phases: { total: expect.any(Number) } })
  })

  it('say that a call waited for a slot', async () => {
    await it_.worker([nap], { slots: 1 })
    const hub = it_.hub()
    await hub.call(nap, {})
    const [first, second] = await Promise.all([
      hub.call(nap, { ms: 100 }, { phases: true }),
      hub.call(nap, { ms: 1 }, { phases: true }),
    ])
    // They were pushed together, and the second one waited while the first one ran.
    expect(checked(second.phases, 1).backlog).toBeGreaterThan(first.phases!.exec / 2)
  })

  it('come with the error of a call that a worker answered', async () => {
    const giveUp = new AbortController()
    const endless = defineTask('endless:1.0', {}, (_, { signal }) => {
      giveUp.abort()
      return new Promise(resolve => signal.addEventListener('abort', () => resolve(null)))
    })
    await it_.worker([nap, endless])
    const hub = it_.hub()
    const failed = await failure(hub.call(nap, { ms: 31 }))
    expect(failed.code).toBe('TaskFailed')
    checked(failed.phases, 31)
    const late = new Promise(resolve => hub.events.on('reply:late', resolve))
    const givenUp = await failure(hub.call(endless, {}, { phases: true, signal: giveUp.signal }))
    expect(givenUp).toMatchObject({ code: 'Aborted', phases: undefined })
    await late
    expect((await failure(hub.call('none:1.0'))).phases).toBe(undefined)
  })
})

describe('names', () => {
  it('resolve to exactly that, the newest live minor, or the newest live version', async () => {
    await it_.worker([versioned('1.2'), versioned('1.10'), versioned('2.0')])
    const hub = it_.hub()
    expect(await hub.call('greet:1.2')).toBe('1.2')
    expect(await hub.call('greet:1')).toBe('1.10')
    expect(await hub.call('greet')).toBe('2.0')
  })

  it('follow a worker that starts with a newer version', async () => {
    await it_.worker([versioned('1.0')])
    const hub = it_.hub()
    expect(await hub.call('greet')).toBe('1.0')
    await it_.worker([versioned('1.0'), versioned('1.1')], { queue: 'other' })
    await eventually(async () => (await hub.call('greet')) === '1.1')
  })
})

describe('gather', () => {
  it('settles each by its name, and one that fails spoils none', async () => {
    await it_.worker([add, echo])
    const page = await it_.hub().gather({
      good: ['my_task:1.0', { x: 1 }],
      task: [add, { x: 2 }],
      bad: ['my_task:1.0', { x: 'one' }],
      gone: ['other:2.0', {}],
    })
    expect(page.good).toMatchObject({ ok: true, value: { x: 11 }, ms: expect.any(Number) })
    expect(String(page.good!.ms)).toMatch(/^\d+(\.\d{1,3})?$/)
    expect(page.task).toMatchObject({ ok: true, value: { x: 12 } })
    expect(page.bad).toMatchObject({ ok: false, error: { code: 'InvalidArgs' } })
    expect(page.gone).toMatchObject({ ok: false, error: { code: 'NoSuchTask' } })
  })

  it('reports an entry that is not a call as that entry', async () => {
    const page = await it_.hub().gather({ odd: 'my_task:1.0' as never })
    expect(page.odd).toMatchObject({ ok: false, error: { code: 'InvalidArgs' } })
  })
})

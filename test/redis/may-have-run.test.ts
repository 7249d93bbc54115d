import { describe, expect, it } from 'vitest'
import { defineTask, HubError } from '../../src/index.ts'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'
import { queueKeys } from '../support/queue-keys.ts'

const it_ = useRedis()
const keys = () => queueKeys(it_)

/** The same task as a newer worker declares it, which takes no call of the older ones. */
const stricter = (name: string, ran: unknown[]) =>
  defineTask(name, { idempotent: true, args: { type: 'object', required: ['new'] } }, args => ran.push(args))

const waiting = (name: string, started: unknown[]) =>
  defineTask(name, { idempotent: true, timeoutMs: 20_000 }, (args, { signal }) => {
    started.push(args)
    return new Promise(resolve => signal.addEventListener('abort', resolve))
  })

describe('no caller hears that a call was certainly not run which an earlier worker had started', () => {
  it('when that worker was stopped', async () => {
    const started: unknown[] = []
    const ran: unknown[] = []
    const first = await it_.worker([waiting('task:1.0', started)])
    const answer = failure(it_.hub().call('task:1.0', { n: 1 }))
    await eventually(() => started.length === 1)
    await first.stop({ graceMs: 0 })
    const [text] = await it_.redis.lrange(keys().calls, 0, -1)
    expect(JSON.parse(text!)).toMatchObject({ args: { n: 1 }, started: true })
    await it_.worker([stricter('task:1.0', ran)])
    expect(await answer).toMatchObject({ code: 'WorkerLost', ran: 'maybe', retryable: false })
    expect((await answer).message).toContain('An earlier worker may have run task:1.0')
    expect(ran).toEqual([])
  })

  it('and the mark stays when it is handed on once more', async () => {
    const started: unknown[] = []
    const first = await it_.worker([waiting('task:1.0', started)])
    const answer = failure(it_.hub().call('task:1.0', { n: 1 }))
    await eventually(() => started.length === 1)
    await first.stop({ graceMs: 0 })
    const second = await it_.worker([waiting('task:1.0', started)])
    await eventually(() => started.length === 2)
    await second.stop({ graceMs: 0 })
    const [text] = await it_.redis.lrange(keys().calls, 0, -1)
    expect(text!.match(/"started":true/g)).toHaveLength(1)
    await it_.worker([stricter('task:1.0', [])])
    expect(await answer).toBeInstanceOf(HubError)
    expect(await answer).toMatchObject({ code: 'WorkerLost' })
  })
})

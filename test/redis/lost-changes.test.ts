import { describe, expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { ChaosProxy } from '../support/chaos-proxy.mjs'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'

const it_ = useRedis()

/** A hub behind a proxy that loses the answer of the first chunk to Redis with this text, and the connection with it. */
const losing = async (text: string) => {
  const proxy = await ChaosProxy.start(it_.server.port)
  it_.onEnd(() => proxy.stop())
  const hub = it_.hub({ redis: proxy.url })
  let isArmed = true
  proxy.deafenAfter = (chunk: Buffer) => {
    if (!isArmed || !chunk.includes(text)) return false
    isArmed = false
    return true
  }
  return { hub, wasLost: () => !isArmed }
}

describe('a change whose answer is lost', () => {
  it.each(['open', 'close'])('is repeated where it may be: a batch, at its %s', async verb => {
    const { hub, wasLost } = await losing(`\r\n${verb}\r\n`)
    const ran: string[] = []
    const member = defineTask('member:1.0', {}, () => ran.push('member'))
    const after = defineTask('after:1.0', {}, () => ran.push('after'))
    await it_.worker([member, after])
    it_.allowLeftovers()
    await hub.batch(
      [
        ['member:1.0', { n: 1 }],
        ['member:1.0', { n: 2 }],
      ],
      { then: ['after:1.0', {}] },
    )
    await eventually(() => ran.length === 3)
    expect([ran, wasLost()]).toEqual([['member', 'member', 'after'], true])
  })

  it('is told as one that may have been done: a schedule that is run', async () => {
    const { hub } = await losing('pshub_1_enqueue')
    let runs = 0
    await it_.worker([defineTask('t:1.0', {}, () => ++runs)])
    await it_.hub().schedule('yearly', { cron: '0 0 1 1 *' }, 't:1.0', {}, { queue: 'q' })
    it_.allowLeftovers()
    const error = await failure(hub.schedules('q').run('yearly'))
    expect([error.code, error.ran, error.retryable]).toEqual(['OutcomeUnknown', 'maybe', false])
    await eventually(() => runs === 1)
  })

  it('skips nothing else when it is repeated for what it named', async () => {
    it_.allowLeftovers()
    for (const keyed of ['ordered', 'merged'] as const) {
      const { hub } = await losing('\r\nskip\r\n')
      const task = defineTask(`${keyed}:1.0`, { keyed }, () => undefined)
      await (await it_.worker([task])).stop()
      for (const n of [1, 2])
        await hub.enqueue(task.name.full, n, { key: 'a', ...(keyed === 'merged' ? { score: n / 10 } : {}) })
      const key = await hub.key(task.name.full, 'a')
      const { jobs, payloads } = await key.status()
      const what = keyed === 'ordered' ? { id: jobs[0]!.id } : { score: payloads[0]!.score }
      expect(await failure(key.skip(what))).toMatchObject({ code: 'OutcomeUnknown', ran: 'maybe' })
      expect(await key.skip(what)).toBe(false)
      const [dead, left] = [await key.dead(), await key.status()]
      expect([dead.map(({ args }) => args), left.waiting]).toEqual([[1], 1])
    }
  })

  it('is told as one that did not happen where it was never sent', async () => {
    const hub = it_.hub({ redis: 'redis://127.0.0.1:1' })
    const error = await failure(hub.schedules('q').pause('yearly'))
    expect([error.code, error.ran]).toEqual(['NotEnqueued', 'no'])
  })
})

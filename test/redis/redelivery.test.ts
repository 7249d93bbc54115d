import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { Queue } from '../../src/queue/queue.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { requestBody, requestTail, stamped } from '../../src/wire/message.ts'
import { useRedis } from '../support/hub-fixture.ts'
import { queueKeys } from '../support/queue-keys.ts'

/** What becomes of the texts of requests whose worker died or left: the functions splice marks into them. */
const server = useRedis()
const keys = () => queueKeys(server)
const queue = () => new Queue('q', makeKeys(server.namespace))

const { started, losses } = JSON.parse(
  // Nobody waits for what is written there any more.
  readFileSync(new URL('../../clients/vectors/marks.json', import.meta.url), 'utf8').replaceAll(
    'ttl\\":5000',
    'ttl\\":0',
  ),
) as Record<'started' | 'losses', { title: string; text: string; marked: string; losses: number }[]>

/** A dead job without what was noted of its failure. */
const withoutFailure = (text: string): string =>
  text.replace(/"job":\{"tries":1,"errors":\[\{[^}]*"WorkerLost"[^}]*\}\]\},/, '')

const nothing = { told: [], outs: [] }

/** Held by one that died. Returns what its heir found of it. */
const adopted = async (heldId: string, text: string) => {
  const { redis } = server
  const { held, leases, calls, bell, jobs, jobBell, dead } = keys()
  await redis.hset(held('w'), heldId, text)
  await redis.zadd(leases, '1', 'w')
  await queue().beat(redis, 'v', 60_000, true)
  const answer = (await queue().adopt(redis, 'w', 'v'))!
  const found = {
    calls: await redis.lrange(calls, 0, -1),
    jobs: await redis.lrange(jobs, 0, -1),
    dead: (await redis.zrange(dead, '0', '-1')).map(withoutFailure),
    held: await redis.hgetall(held('v')),
    rung: [await redis.llen(bell), await redis.llen(jobBell)],
    answer: { ...answer, dead: answer.dead.map(({ id, text }) => ({ id, text: withoutFailure(text) })) },
  }
  await redis.del(held('v'), leases, calls, bell, jobs, jobBell, dead)
  return found
}

describe('a request that its worker had started', () => {
  it.each(losses)('goes back with its losses when that died: $title', async ({ text, marked, losses }) => {
    const job = await adopted('job:a1', text)
    expect([job.jobs, job.dead]).toEqual(losses < 3 ? [[marked], []] : [[], [marked]])
    expect(job.rung).toEqual(losses < 3 ? [0, 1] : [0, 0])
    const pair = [{ id: 'job:a1', text: marked }]
    expect(job.answer).toEqual({
      done: true,
      toAnswer: [],
      redelivered: losses < 3 ? pair : [],
      dead: losses < 3 ? [] : pair,
      ...nothing,
    })
  })

  it.each(started)('goes back with a mark when that left, a job as it is: $title', async ({ text, marked }) => {
    const { redis } = server
    const { held, calls, bell, jobs, jobBell } = keys()
    const idempotent = (message: string) => message.replace('"id":"a1",', '"id":"a1","idempotent":true,')
    await redis.hset(held('w'), { a1: idempotent(text), 'job:a1': text })
    expect(await queue().leave(redis, 'w', ['a1', 'job:a1'])).toBe(2)
    expect(await redis.lrange(calls, 0, -1)).toEqual([idempotent(marked)])
    expect(await redis.lrange(jobs, 0, -1)).toEqual([text])
    await redis.del(calls, bell, jobs, jobBell)
  })

  const call = (isIdempotent: boolean) =>
    stamped(
      '1',
      0,
      requestBody('a1', 't:1.0', isIdempotent, '{"idempotent":true}', requestTail('pshub:reply:{h}', 's')),
    )

  it('is only run again where its caller said so, right behind its id', async () => {
    const again = await adopted('a1', call(true))
    expect([again.calls.length, again.rung, Object.keys(again.held)]).toEqual([1, [1, 0], []])
    const byHand = `{"task":"t:1.0","idempotent":true,"id":"a1"}`
    for (const text of [call(false), byHand]) {
      const { calls, held, answer } = await adopted('a1', text)
      const left = text.replace(/\}$/, ',"losses":1}')
      expect([calls, held]).toEqual([[], { 'lost:a1': left }])
      expect(answer).toEqual({
        done: true,
        toAnswer: [{ id: 'lost:a1', text: left }],
        redelivered: [],
        dead: [],
        ...nothing,
      })
    }
  })

  it('goes when it is no message, or nobody waits any more', async () => {
    const over = call(true).replace('"ttl":0', '"ttl":1')
    for (const text of ['no message', '{"at":1,"ttl":0,"id":"a1"', over]) {
      for (const id of text === over ? ['a1'] : ['a1', 'job:a1']) {
        const { answer, rung: _, ...rest } = await adopted(id, text)
        expect(rest, text).toEqual({ calls: [], jobs: [], dead: [], held: {} })
        expect(answer).toEqual({ done: true, toAnswer: [], redelivered: [], dead: [], ...nothing })
      }
    }
  })
})

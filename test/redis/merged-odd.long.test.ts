import { describe, expect, it } from 'vitest'
import { type JobEnd, JobQueue } from '../../src/queue/job-queue.ts'
import { type MergedTask, Queue } from '../../src/queue/queue.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { useRedis } from '../support/hub-fixture.ts'

/*
 * Merged jobs where something is out of the ordinary: more than Lua can hand to a command at once, somebody else's keys and values, clocks that
 * were set. What the functions are sent is what a worker sends.
 */

const it_ = useRedis()
const task = 'merge:1.0'

const stage = () => {
  it_.allowLeftovers()
  const keys = makeKeys(it_.namespace)
  const [queue, jobs] = [new Queue('q', keys), new JobQueue('q', keys)]
  let batches = 0
  const enqueue = (key: string, payloads: string[], part = '') =>
    jobs.enqueue(
      it_.redis,
      'h',
      ++batches,
      payloads.map((payload, at) => {
        const job = `{"key":"${key}","merged":true${part}}`
        return `"ttl":0,"id":"j${batches}-${at}","job":${job},"task":"${task}","args":${payload}}`
      }),
    )
  const claim = async (worker: string, merging: Partial<MergedTask> = {}, slots = 1000) => {
    await queue.beat(it_.redis, worker, 3_600_000, true)
    const rule = { task, batch: 1, maxPayloads: 1000, ...merging }
    const { requests } = (await queue.claim(it_.redis, worker, { slots, jobs: slots, merging: [rule] }))!
    return requests.map(({ text }) => ({ text, heldId: `job:${/"id":"([\w-]+)"/.exec(text)![1]}` }))
  }
  const end = (id: string, words?: string[]): JobEnd => {
    const text = words ? '"code":"E","message":"no"' : ''
    return { id, outcome: words ? 'retry' : 'done', delayMs: 0, ...(words ? { words } : {}), text, following: '' }
  }
  const waiting = (key: string) => it_.redis.zrange(jobs.keys.merged(task, key), '0', '-1')
  return { ...{ queue, jobs, keys: jobs.keys, enqueue, claim, end, waiting } }
}

describe('merged jobs', () => {
  it('end, however many keys their runs had, and cost no other job its retry', async () => {
    const { jobs, keys, enqueue, claim, end } = stage()
    await Promise.all(Array.from({ length: 9000 }, (_, n) => enqueue(`k${n}`, ['1'])))
    await jobs.enqueue(it_.redis, 'h2', 1, ['"ttl":0,"id":"plain","job":{"tries":0,"errors":[]},"task":"own:1.0"}'])
    const runs = []
    for (let more = true; more; ) {
      const found = await claim('w', { batch: 100 })
      runs.push(...found)
      more = found.length > 0
    }
    expect(runs.length).toBeGreaterThan(85)
    const ends = runs.map(({ heldId }) =>
      heldId === 'job:plain' ? { ...end(heldId, []), words: undefined as never, delayMs: 60_000 } : end(heldId),
    )
    await jobs.settle(it_.redis, 'w', ends)
    expect(await it_.redis.zcard(keys.retries)).toBe(1)
    expect(await it_.redis.exists(keys.running(task))).toBe(0)
  }, 60_000)
})

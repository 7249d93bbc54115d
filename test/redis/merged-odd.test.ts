import { describe, expect, it } from 'vitest'
import { type HeldEnd, JobQueue } from '../../src/queue/job-queue.ts'
import { type MergedTask, Queue } from '../../src/queue/queue.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { leadingAt } from '../../src/wire/message.ts'
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
  const end = ({ heldId: id, text: held }: { heldId: string; text: string }, words?: string[]): HeldEnd => {
    const text = words ? '"code":"E","message":"no"' : ''
    return {
      id,
      at: leadingAt(held),
      outcome: words ? 'retry' : 'done',
      delayMs: 0,
      ...(words ? { words } : {}),
      text,
      following: '',
    }
  }
  const waiting = (key: string) => it_.redis.zrange(jobs.keys.merged(task, key), '0', '-1')
  return { ...{ queue, jobs, keys: jobs.keys, enqueue, claim, end, waiting } }
}

const many = Array.from({ length: 9500 }, (_, at) => String(at))

describe('merged jobs', () => {
  it.each(['retry', 'd1', 'handback', 'adopt', 'leave', 'unheld'] as const)(
    'come back however many they are: %s',
    async way => {
      const { queue, jobs, keys, enqueue, claim, end, waiting } = stage()
      for (let from = 0; from < many.length; from += 1000) await enqueue('a', many.slice(from, from + 1000))
      if (way === 'unheld') await it_.redis.set(keys.held('w'), 'of somebody else')
      const runs = await claim('w', { maxPayloads: 10_000 }).catch(() => [])
      const [run] = runs
      if (way === 'retry') await jobs.settle(it_.redis, 'w', [end(run!, ['r0'])])
      if (way === 'd1') await jobs.settle(it_.redis, 'w', [end(run!, ['d1'])])
      if (way === 'handback') await queue.handback(it_.redis, 'w', 'head', [run!.heldId])
      if (way === 'leave') await queue.leave(it_.redis, 'w', [])
      if (way === 'adopt') {
        await it_.redis.zadd(keys.leases, 1, 'w')
        await queue.beat(it_.redis, 'v', 3_600_000, true)
        await queue.adopt(it_.redis, 'w', 'v')
      }
      const back = await waiting('a')
      expect(back.length).toBe(way === 'd1' ? many.length - 1 : many.length)
      expect(back[1]).toBe(way === 'd1' ? '2' : '1')
    },
  )

  it.each(['inf', '1e300', '1e20', '-1e300', 'nan'])(
    'have tokens of their own though the last one was %s',
    async last => {
      const { keys, enqueue, claim } = stage()
      await it_.redis.set(keys.fence, last)
      const ids = new Set<string>()
      for (const key of ['a', 'b', 'c']) {
        await enqueue(key, ['1'])
        for (const { heldId } of await claim('w')) ids.add(heldId)
      }
      expect(ids.size).toBe(3)
      for (const id of ids) expect(id).toMatch(/^job:m-\d{16}$/)
    },
  )
})

describe('ordered jobs', () => {
  it('of before their task merged them leave a payload behind them its own time', async () => {
    const { jobs, keys, claim, end, enqueue } = stage()
    const message = `"ttl":0,"id":"j","job":{"key":"a"},"task":"${task}","args":1}`
    await jobs.enqueue(it_.redis, 'h', 0, [message])
    await enqueue('a', ['2'], ',"delay":3600000')
    const [first, ...more] = await claim('w')
    expect([first?.heldId, more]).toEqual(['job:j', []])
    await jobs.settle(it_.redis, 'w', [end(first!)])
    expect(await claim('w')).toEqual([])
    expect(await it_.redis.zscore(keys.later, `${task} a`)).not.toBeNull()
  })

  it.each(['d1', 'r3600000'])('that came while a run of their key failed are next: %s', async word => {
    const { jobs, keys, claim, end, enqueue } = stage()
    await enqueue('a', ['1'])
    const [run] = await claim('w')
    const message = `"ttl":0,"id":"j","job":{"key":"a"},"task":"${task}","args":2}`
    await jobs.enqueue(it_.redis, 'g', 1, [message])
    await jobs.settle(it_.redis, 'w', [end(run!, [word])])
    const [job, ...more] = await claim('w')
    expect([job?.heldId, more]).toEqual(['job:j', []])
    await jobs.settle(it_.redis, 'w', [end(job!)])
    // A retry behind it keeps its own time.
    expect(await claim('w')).toEqual([])
    expect(await it_.redis.exists(keys.later)).toBe(word === 'd1' ? 0 : 1)
  })

  it('are counted, and due, where they could not be held', async () => {
    const { jobs, keys, claim } = stage()
    const message = '"ttl":0,"id":"j","job":{"key":"a"},"task":"line:1.0","args":1}'
    await jobs.enqueue(it_.redis, 'h', 1, [message])
    await it_.redis.set(keys.held('w'), 'of somebody else')
    await claim('w').catch(() => undefined)
    await it_.redis.del(keys.held('w'))
    expect(await it_.redis.hgetall(keys.lined)).toEqual({ 'line:1.0': '1' })
    expect((await claim('w')).map(({ heldId }) => heldId)).toEqual(['job:j'])
  })
})

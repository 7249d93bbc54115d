import { expect } from 'vitest'
import { defineTask, type Hub, PutOff } from '../../src/index.ts'
import { eventually, type Fixture } from './hub-fixture.ts'
import { queueKeys } from './queue-keys.ts'

/** Merged jobs in each way in which they come, run, fail, are lost and are looked at; and what can be done with their keys. */
export const enqueueMerged = async (
  server: Fixture,
  hub: Hub,
  workerUrl: string,
  looking: readonly Hub[],
): Promise<void> => {
  const { redis } = server
  const { held, leases, later, scores } = queueKeys(server)
  const ends: (() => void)[] = []
  const runs: string[] = []
  const tasks = mergedTasks(runs, ends)
  const worker = await server.worker(tasks, { redis: workerUrl, queue: 'q', slots: 4 })
  const ran = (text: string) => eventually(() => runs.includes(text))
  await hub.enqueue('stays:1.0', 1, { key: 'a' })
  await ran('stays a 1')
  await hub.enqueue('stays:1.0', 2, { key: 'a', delayMs: 60_000 })
  await hub.enqueue('stays:1.0', 1, { key: 'a' })
  await hub.enqueue('fails:2.0', 1, { key: 'b' })
  await ran('fails b 1')
  await eventually(async () => (await redis.zscore(later, 'fails:2.0 b')) !== null)
  for (const viewer of looking) {
    expect((await viewer.queues()).find(({ queue }) => queue === 'q')!.keys).toMatchObject({ waiting: 1, running: 1 })
    expect((await viewer.overview()).queues).toHaveLength(1)
    const { jobs } = await viewer.jobs({ state: 'waiting', key: 'b' })
    expect(jobs).toMatchObject([{ task: 'fails:2.0', payloads: 1 }])
    expect(await (await viewer.key('fails:2.0', 'b')).status()).toMatchObject({ state: 'later', tries: 1 })
  }
  const b = await hub.key('fails:2.0', 'b')
  expect(await b.status()).toMatchObject({ state: 'later', tries: 1, waiting: 1, payloads: [{ args: 1 }] })
  await hub.enqueue('fails:2.0', 2, { key: 'b' })
  expect(await b.skip()).toBe(true)
  await ran('fails b 2')
  await eventually(async () => (await b.status()).state === 'later')
  expect(await b.runNow()).toBe(1)
  await eventually(async () => (await b.status()).tries === 2)
  expect(await b.delete()).toBe(1)
  expect(await b.retryDead()).toBe(1)
  await eventually(async () => (await b.status()).state === 'later')
  await b.delete()
  // A job of before its task merged them, in front of a payload that waits for its time.
  const { line, lined, job } = queueKeys(server)
  await hub.enqueue('stays:1.0', 1, { key: 'z', delayMs: 60_000 })
  const before = '{"at":1,"ttl":0,"id":"before","job":{"key":"z","keep":60000},"task":"stays:1.0","args":1}'
  await redis.rpush(line('stays:1.0', 'z'), before)
  await redis.hincrby(lined, 'stays:1.0', 1)
  await redis.hset(job('before'), { state: 'waiting', task: 'stays:1.0', key: 'z', due: 1 })
  expect(await (await hub.job('before', { queue: 'q' })).cancel()).toBe(true)
  await (await hub.key('stays:1.0', 'z')).delete()
  ends[0]!()
  await eventually(async () => (await (await hub.key('stays:1.0', 'a')).status()).state === 'later')
  // What a lost worker ran.
  const part = '"job":{"fence":5,"run":[["c",0,[1,1]]]},"task":"stays:1.0","args":[3]'
  await redis.hset(held('gone'), 'job:m-5', `{"at":1,"ttl":0,"id":"m-5",${part}}`)
  await redis.zadd(leases, 1, 'gone')
  await ran('stays c 3')
  ends[1]!()
  await hub.enqueue('off:1.0', 1, { key: 'd' })
  await ran('off d 2')
  await (await hub.key('stays:1.0', 'a')).delete()
  const batch = await hub.batch([['lined:1.0', 1, { key: 'e', delayMs: 60_000 }]])
  const e = await hub.key('lined:1.0', 'e')
  expect(await e.status()).toMatchObject({ state: 'later', waiting: 1, jobs: [{ args: 1 }] })
  expect(await e.skip()).toBe(true)
  expect(await batch.status()).toMatchObject({ dead: 1, total: 1 })
  expect(await hub.dead('q').delete({ key: 'e' })).toBe(1)
  // A worker enqueues what is scheduled, and may be the first to do so.
  await redis.del(scores)
  await hub.schedule('merged', { cron: '* * * * * *' }, 'stays:1.0', 9, { key: 'g' })
  await ran('stays g 9')
  await hub.schedules('q').remove('merged')
  for (const end of ends) end()
  await worker.stop()
}

const mergedTasks = (runs: string[], ends: (() => void)[]) => {
  const note = (what: string, byKey: Map<string, unknown[]>, also?: unknown) => {
    for (const [key, payloads] of byKey) runs.push(`${what} ${key} ${also ?? payloads.at(-1)}`)
  }
  const stays = defineTask('stays:1.0', { keyed: 'merged', batch: 2, scores: 'first' }, byKey => {
    note('stays', byKey)
    return new Promise<void>(resolve => ends.push(resolve))
  })
  const fails = defineTask('fails:2.0', { keyed: 'merged', backoff: 60_000 }, byKey => {
    note('fails', byKey)
    throw new Error('not yet')
  })
  let count = 0
  const off = defineTask('off:1.0', { keyed: 'merged' }, byKey => {
    note('off', byKey, ++count)
    if (count < 2) throw new PutOff(10)
  })
  const lined = defineTask('lined:1.0', { keyed: 'ordered' }, () => undefined)
  return [stays, fails, off, lined]
}

import { expect } from 'vitest'
import { defineTask, type Hub } from '../../src/index.ts'
import { delay } from './delay.ts'
import { eventually, type Fixture } from './hub-fixture.ts'
import { queueKeys } from './queue-keys.ts'

/** Jobs with keys: that hold others, let them pass, wait for their time, follow others, come back from a lost worker, and are given up. */
export const enqueueWithKeys = async (server: Fixture, hub: Hub, workerUrl: string): Promise<void> => {
  const { redis } = server
  const { held, leases, running } = queueKeys(server)
  const done: unknown[] = []
  const worker = await server.worker(keyedTasks(done), { redis: workerUrl, queue: 'q' })
  const [a, b] = [{ key: 'a' }, { key: 'b', backoff: 20 }]
  await hub.enqueue('ordered:1.0', { n: 1, ms: 1500 }, a)
  await eventually(() => worker.busy === 1)
  await hub.enqueue('ordered:1.0', { n: 2 }, { ...a, delayMs: 50 })
  await hub.enqueue('ordered:1.0', { n: 3, fails: true }, b)
  await hub.enqueue('passes:1.0', { n: 4, fails: true }, b)
  await hub.chain([
    ['own:1.0', 1],
    ['ordered:1.0', { n: 5 }, { key: 'c' }],
  ])
  await hub.enqueue('ordered:1.0', { n: 7 }, { key: 'e', delayMs: 50 })
  // Nobody holds what it runs.
  await redis.hset(running('ordered:1.0'), 'f', '1 nobody g')
  await hub.enqueue('ordered:1.0', { n: 8 }, { key: 'f' })
  await eventually(() => done.length === 7)
  const part = '"job":{"key":"d"},"task":"ordered:1.0","args":{"n":6}'
  await redis.hset(held('gone'), 'job:d', `{"at":1,"ttl":0,"id":"d",${part}}`)
  await redis.zadd(leases, 1, 'gone')
  await eventually(() => done.length === 8)
  expect(done.toSorted()).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
  await worker.stop()
}

const keyedTasks = (done: unknown[]) => {
  const handler = async (args: unknown, ctx: { attempt: number }) => {
    const { n, ms = 0, fails } = args as { n: number; ms?: number; fails?: boolean }
    await delay(ms, 'how long a test wants it to take')
    if (fails && ctx.attempt === 1) throw new Error('not yet')
    done.push(n)
  }
  const ordered = defineTask('ordered:1.0', { keyed: 'ordered' }, handler)
  return [
    ordered,
    defineTask('passes:1.0', { keyed: 'ordered', onFailure: 'pass' }, handler),
    defineTask('own:1.0', {}, own => own),
  ]
}

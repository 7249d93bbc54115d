import { expect } from 'vitest'
import { defineTask, type EventMap, type Task, type TaskMiddleware, Worker } from '../../src/index.ts'
import { delay } from './delay.ts'
import type { Fixture } from './hub-fixture.ts'

/** Workers with something around their handlers, and what they share in Redis. */
export const useGuarded = (it_: Fixture) => ({
  /** Checks that what is kept for a while after its use goes by itself, and removes it. */
  forget: async (): Promise<void> => {
    const keys = (await it_.keys()).filter(key => /^(lock|rate|told):/.test(key))
    for (const key of keys) expect(await it_.redis.pttl(`${it_.namespace}:${key}`), key).not.toBe(-1)
    if (keys.length > 0) await it_.redis.del(...keys.map(key => `${it_.namespace}:${key}`))
  },

  // biome-ignore lint/suspicious/noExplicitAny: tasks of any arguments and results
  serve: async (tasks: Task<any, any>[], around: TaskMiddleware[], options = {}) => {
    const worker = new Worker({
      redis: it_.url,
      namespace: it_.namespace,
      queue: 'q',
      logLevel: 'silent',
      slots: 8,
      jobSlots: 8,
      tasks,
      ...options,
    })
    for (const each of around) worker.use(each)
    const putOff: EventMap['job:putoff'][] = []
    worker.events.on('job:putoff', event => putOff.push(event))
    it_.onEnd(() => worker.stop({ graceMs: 500 }))
    await worker.start()
    return { worker, putOff }
  },
})

/** Runs for as long as it is told, without a time until `end()`, and knows what ran beside it. */
export const watched = () => {
  const seen = { running: 0, most: 0, ran: [] as unknown[], fences: [] as number[], attempts: [] as number[] }
  const ends: ((value: unknown) => void)[] = []
  const task = defineTask('alone:1.0', { timeoutMs: 20_000 }, async (args, ctx) => {
    const { n, ms } = args as { n: number; ms?: number }
    seen.most = Math.max(seen.most, ++seen.running)
    seen.fences.push(ctx.fence!)
    seen.attempts.push(ctx.attempt)
    if (ms !== undefined) await delay(ms, 'how long a test wants it to take', ctx.signal)
    else
      await new Promise(resolve => {
        ends.push(resolve)
        ctx.signal.addEventListener('abort', resolve, { once: true })
      })
    seen.running--
    seen.ran.push(n)
    return { n, lost: ctx.signal.aborted }
  })
  const end = () => {
    for (const each of ends.splice(0)) each(undefined)
  }
  return { task, seen, end }
}

import type { Redis } from 'ioredis'
import { makeKeys } from '../../src/wire/keys.ts'

/** So many workers, none of which runs, with ten failures and ten slow calls of each of so many tasks. */
export const failingCrowd = async (
  redis: Redis,
  namespace: string,
  { workers, tasks }: { workers: number; tasks: number },
): Promise<void> => {
  const keys = makeKeys(namespace)
  const nowUs = Date.now() * 1000
  const names = Array.from({ length: tasks }, (_, at) => `task_${at}:1.0`)
  const of = <T>(call: (worker: number, task: number, at: number) => T, worker: number) =>
    JSON.stringify(
      Object.fromEntries(
        names.map((name, task) => [name, Array.from({ length: 10 }, (_, at) => call(worker, task, at))]),
      ),
    )
  const endedAt = (worker: number, task: number, at: number) => nowUs - (worker + at * workers) * 1000 - task
  const idOf = (...places: number[]) => `call-${places.join('-')}`
  for (const task of names)
    await redis.hset(
      keys.tasks,
      task,
      JSON.stringify({ task, queue: 'q', timeoutMs: 1000, at: Math.floor(nowUs / 1e6) }),
    )
  for (let worker = 0; worker < workers; worker++) {
    const id = `failing-${worker}`
    const own = Object.fromEntries(names.map(name => [name, 'd']))
    const card = { id, queue: 'q', host: `host-${worker % 10}`, pid: worker, slots: 8, tasks: own }
    const failed = of(
      (...places) => ({
        id: idOf(...places),
        at: endedAt(...places),
        code: places[1] % 2 === 0 ? 'TaskFailed' : 'Expired',
        message: `no ${'luck '.repeat(20)}${places[2]}`,
        execUs: 5,
        from: 'web',
      }),
      worker,
    )
    const slow = of((...places) => {
      const us = { backlog: 10, queue: 20, exec: 5000 + places[0] * 100 + places[2] }
      return { id: idOf(...places), at: endedAt(...places), us, loopMs: 0, from: 'web' }
    }, worker)
    await redis
      .pipeline()
      .hset(keys.workers, id, JSON.stringify(card))
      .hset(keys.failures, id, failed)
      .hset(keys.slow, id, slow)
      .exec()
  }
}

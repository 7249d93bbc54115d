import type { Redis } from 'ioredis'
import { makeKeys } from '../../src/wire/keys.ts'

/** So many workers that serve so many tasks, as the registry says; none of them runs. */
export interface CrowdSize {
  tasks: number
  workers: number
  queues: number
  /** Workers of each task. */
  providers: number
}

const leaseMs = 600_000

/** Entries of a crowd in the registry. */
export class Crowd {
  readonly #redis: Redis
  readonly #namespace: string
  readonly #size: CrowdSize
  readonly #tasksOf = new Map<string, string[]>()

  constructor(redis: Redis, namespace: string, size: CrowdSize) {
    this.#redis = redis
    this.#namespace = namespace
    this.#size = size
  }

  async come(): Promise<void> {
    const { tasks, workers, queues, providers } = this.#size
    const keys = makeKeys(this.#namespace)
    const now = Date.now()
    const pipeline = this.#redis.pipeline()
    for (let at = 0; at < workers; at++) this.#tasksOf.set(`crowd-${String(at).padStart(4, '0')}`, [])
    const ids = [...this.#tasksOf.keys()]
    for (let at = 0; at < tasks; at++) {
      const task = `task_${String(at).padStart(4, '0')}:1.0`
      const queue = at % queues
      const own = ids.filter((_, worker) => worker % queues === queue)
      for (let count = 0; count < providers; count++)
        this.#tasksOf.get(own[(Math.floor(at / queues) + count) % own.length]!)!.push(task)
      const card = {
        task,
        queue: `queue-${queue}`,
        description: `Number ${at} of many.`,
        timeoutMs: 1000,
        at: Math.floor(now / 1000),
      }
      pipeline.hset(keys.tasks, task, JSON.stringify(card))
    }
    for (const [at, id] of ids.entries()) {
      const queue = `queue-${at % queues}`
      const own = Object.fromEntries(this.#tasksOf.get(id)!.map(task => [task, 'd']))
      const card = {
        id,
        queue,
        host: `host-${at % 25}`,
        pid: 1000 + at,
        slots: 8,
        tasks: own,
        client: 'crowd/1',
        started: Math.floor(now / 1000),
      }
      pipeline.hset(keys.workers, id, JSON.stringify(card))
      pipeline.zadd(keys.queue(queue).leases, now + leaseMs, id)
    }
    await pipeline.exec()
  }
}

import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { Hub, type HubOptions, type Task, Worker, type WorkerOptions } from '../../src/index.ts'
import { install } from '../../src/redis/library.ts'
import { startServer } from '../../tools/redis-server.mjs'
import { type Server, sharedServer } from './shared-server.ts'
import { ownedByAll } from './unowned.ts'

/** A redis-server that only this file uses now, and hubs and workers in a namespace of each test's own, all gone at its end. */
export interface Fixture {
  readonly url: string
  readonly namespace: string
  readonly redis: Redis
  readonly server: Server
  hub(options?: HubOptions): Hub
  // biome-ignore lint/suspicious/noExplicitAny: tasks of any arguments and results
  worker(tasks: Task<any, any>[], options?: Partial<WorkerOptions>): Promise<Worker>
  /** Names of all keys of this test, without the namespace. */
  keys(): Promise<string[]>
  /** For a test that ends with something in Redis on purpose: what has an end of life, or an owner. */
  allowLeftovers(): void
  /** The same with what neither has: it was put there by hand, or Redis forgot what owned it. */
  allowStrangers(): void
  /** Runs at the end of the test, last added first. */
  onEnd(cleanUp: () => unknown): void
}

const registry = ['tasks', 'queues', 'workers', 'stats', 'taskstats', 'slow', 'failures', 'refusing']

/** Counts on through all files of this process, so that a straggler of one test never writes into the namespace of another. */
let count = 0

/** @param args for a server of this file's own, started with them */
export const useRedis = (args: string[] = []): Fixture => {
  const isOwn = args.length > 0
  let server: Server
  let redis: Redis
  let leftoversAllowed = false
  let allowsStrangers = false
  let cleanUps: (() => unknown)[] = []
  beforeAll(async () => {
    server = isOwn ? await startServer({ args }) : await sharedServer()
    redis = new Redis(server.url, { maxRetriesPerRequest: 3 })
    redis.on('error', () => undefined)
    // As `pshub install` does: not all users in tests may.
    await install(redis)
  })
  afterAll(async () => {
    redis.disconnect()
    if (isOwn) await server.stop()
  })
  const fixture: Fixture = {
    get url() {
      return server.url
    },
    get namespace() {
      return `t${count}`
    },
    get redis() {
      return redis
    },
    get server() {
      return server
    },
    hub(options = {}) {
      const hub = new Hub({ redis: server.url, namespace: fixture.namespace, logLevel: 'silent', ...options })
      cleanUps.push(() => hub.close())
      return hub
    },
    async worker(tasks, options = {}) {
      const worker = new Worker({
        redis: server.url,
        namespace: fixture.namespace,
        queue: 'q',
        logLevel: 'silent',
        tasks,
        ...options,
      })
      cleanUps.push(() => worker.stop({ graceMs: 500 }))
      await worker.start()
      return worker
    },
    async keys() {
      const keys = await redis.keys(`${fixture.namespace}:*`)
      return keys.map(key => key.slice(fixture.namespace.length + 1)).sort()
    },
    allowLeftovers() {
      leftoversAllowed = true
    },
    allowStrangers() {
      leftoversAllowed = true
      allowsStrangers = true
    },
    onEnd(cleanUp) {
      cleanUps.push(cleanUp)
    },
  }
  afterEach(async ({ task }) => {
    const namespace = fixture.namespace
    // A test that failed leaves what it leaves: to complain of that too would hide why it failed.
    const hasPassed = task.result?.state !== 'fail'
    const allowed = leftoversAllowed
    const ends = cleanUps.reverse()
    cleanUps = []
    leftoversAllowed = false
    const strangersAllowed = allowsStrangers
    allowsStrangers = false
    const problems: unknown[] = []
    for (const end of ends)
      await Promise.resolve()
        .then(end)
        .catch(problem => problems.push(problem))
    count++
    if (problems.length > 0) throw problems[0]
    if (!hasPassed) return
    if (!strangersAllowed) await ownedByAll(redis, namespace)
    if (allowed) return
    const prefix = `${namespace}:`
    const leftovers = async () =>
      (await redis.keys(`${prefix}*`))
        .map(key => key.slice(prefix.length))
        .sort()
        .filter(key => !registry.includes(key) && !key.startsWith('refused:'))
    let left = await leftovers()
    // What callers said when they gave up, who reported a queue, and whose turn it was, goes by itself, after some seconds; the last token
    // of its keys after a minute, who is logged in after twelve hours, charts after a month. A lock is freed behind the reply, perhaps after
    // the test removed it.
    for (const key of left.filter(name =>
      /:(cancelled|reporter|turn|ticker|fence)$|^session:|^chart:|^lock:/.test(name),
    )) {
      const ttlMs = await redis.pttl(`${namespace}:${key}`)
      expect(ttlMs).toBeLessThanOrEqual(
        key.startsWith('chart:')
          ? 721 * 3600_000
          : key.startsWith('session:')
            ? 43_200_000
            : key.startsWith('lock:')
              ? Number.POSITIVE_INFINITY
              : key.endsWith(':fence')
                ? 60_000
                : 5000,
      )
      if (ttlMs !== -1) left = left.filter(name => name !== key)
    }
    expect(left, `keys left behind in ${namespace}`).toEqual([])
  })
  return fixture
}

/** What is killed right behind a reply still holds what it has answered. Not waited for where something runs on. */
export const released = async (fixture: Fixture): Promise<void> => {
  const isHeld = async () => (await fixture.keys()).some(key => key.includes(':held:'))
  await eventually(async () => !(await isHeld()), 1000).catch(() => undefined)
}

/**
 * Resolves when `look` returns something true; rejects after `ms` with what it saw last. On a machine that does much else a process may get no
 * turn for seconds, and nobody waits for longer than it takes.
 */
export const eventually = async <T>(look: () => T | Promise<T>, ms = 60_000): Promise<T> => {
  const end = Date.now() + ms
  for (;;) {
    const seen = await look()
    if (seen) return seen
    if (Date.now() > end) throw new Error(`did not happen within ${ms} ms; last seen: ${JSON.stringify(seen)}`)
    await new Promise(resolve => setTimeout(resolve, 5))
  }
}

/** The error a promise rejects with. */
export const failure = async (promise: Promise<unknown>): Promise<import('../../src/index.ts').HubError> => {
  try {
    await promise
  } catch (error) {
    return error as never
  }
  throw new Error('expected a rejection')
}

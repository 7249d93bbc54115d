import { isDeepStrictEqual } from 'node:util'
import { type Called, calledName } from '../task/task.ts'
import type { MemoryRedis, PutJob } from './redis/server.ts'

/** An enqueued job. */
export interface EnqueuedJob {
  id: string
  /** `name:version` */
  task: string
  args: unknown
  queue: string
  /** When it is due, milliseconds since 1970 on the clock of the test. */
  dueMs: number
  /** Its key, if it has one. */
  key?: string
}

/** The expected job was not enqueued. Test frameworks show `expected` and `actual` next to each other. */
export class NotEnqueuedAsExpected extends Error {
  override readonly name = 'NotEnqueuedAsExpected'
  readonly expected: unknown
  readonly actual: unknown

  constructor(task: string, expected: unknown, actual: readonly EnqueuedJob[], others: readonly string[]) {
    const of = (each: unknown) => `\n  ${JSON.stringify(each)}`
    const wanted = expected === undefined ? '' : ` with ${JSON.stringify(expected)}`
    const lies =
      actual.length > 0
        ? `Enqueued jobs of this task:${actual.map(({ args }) => of(args)).join('')}`
        : others.length > 0
          ? `Enqueued jobs: ${others.join(', ')}.`
          : 'Nothing was enqueued.'
    super(`No job of ${task} was enqueued${wanted}. ${lies}`)
    this.expected = expected
    this.actual = actual.map(({ args }) => args)
  }
}

/** Whether a job is of the task that is meant: `name` is any version of it, `name:1` any 1.x. */
const isOf = (meant: string, task: string): boolean =>
  task === meant || task.startsWith(`${meant}${meant.includes(':') ? '.' : ':'}`)

/** Matchers inside, such as expect.any(String), say themselves what fits them. */
const fits = (expected: unknown, actual: unknown): boolean => {
  if (typeof expected === 'object' && expected !== null) {
    const { asymmetricMatch } = expected as { asymmetricMatch?: unknown }
    if (typeof asymmetricMatch === 'function') return asymmetricMatch.call(expected, actual) === true
    if (typeof actual !== 'object' || actual === null || Array.isArray(expected) !== Array.isArray(actual)) return false
    const names = Object.keys(expected)
    if (names.length !== Object.keys(actual).length) return false
    return names.every(name => Object.hasOwn(actual, name) && fits((expected as never)[name], (actual as never)[name]))
  }
  return isDeepStrictEqual(expected, actual)
}

/** What went into Redis as a job, in its order, whoever enqueued it: the test, the code under test, or a handler. */
export class EnqueuedJobs {
  readonly #redis: MemoryRedis
  readonly #jobs: EnqueuedJob[] = []

  constructor(redis: MemoryRedis) {
    this.#redis = redis
  }

  /** Those of a task, or all. */
  of(task?: Called): EnqueuedJob[] {
    const meant = task === undefined ? undefined : calledName(task)
    return this.#all().filter(job => meant === undefined || isOf(meant, job.task))
  }

  /** @throws NotEnqueuedAsExpected */
  expect(task: Called, expected?: unknown): EnqueuedJob {
    const candidates = this.of(task)
    const found = candidates.find(({ args }) => expected === undefined || fits(expected, args))
    if (found) return found
    const others = [...new Set(this.#all().map(job => job.task))]
    throw new NotEnqueuedAsExpected(calledName(task), expected, candidates, others)
  }

  /** The one with that id, if it was enqueued here. */
  byId(id: string): EnqueuedJob | undefined {
    return this.#all().find(job => job.id === id)
  }

  #all(): readonly EnqueuedJob[] {
    for (;;) {
      const more = this.#redis.putBehind(this.#jobs.length)
      if (more.length === 0) return this.#jobs
      this.#jobs.push(...more.map(read))
    }
  }
}

const read = ({ queue, atUs, message }: PutJob): EnqueuedJob => {
  const { id, task, args, job = {} } = JSON.parse(`{${message}`)
  const dueMs = job.due ?? Math.floor(atUs / 1000) + (job.delay ?? 0)
  return { id, task, args, queue, dueMs, ...(job.key === undefined ? {} : { key: job.key }) }
}

import type { Scheduler } from 'fast-check'
import type { Redis } from 'ioredis'
import { pushMemoryMs } from '../../src/queue/queue.ts'
import type { Connection } from '../../src/redis/connection.ts'
import { ConnectionLost, NotConnected } from '../../src/redis/failures.ts'
import type { Pushed } from '../../src/wire/answers.ts'
import { monotonicMs } from '../../src/wire/clock.ts'
import { errorReply, okReply } from '../../src/wire/message.ts'
import { ScheduledList } from './scheduled-list.ts'

/** What becomes of one try of a push. */
export const pushOutcomes = [
  'answered',
  'cut off before it arrived',
  'cut off after it arrived',
  'not connected',
  'loading',
  'full',
  'over the limit',
  'over the limit, cut off after it arrived',
] as const
export type PushOutcome = (typeof pushOutcomes)[number]

/** How a worker answers each request of a call. */
export const answers = ['ok', 'ok, twice', 'failed', 'failed for now', 'never'] as const
export type Answer = (typeof answers)[number]

class ReplyError extends Error {
  override readonly name = 'ReplyError'
}

const idOf = (message: string): string => /"id":"([^"]+)"/.exec(message)![1]!

/**
 * What a hub has behind its connections, without Redis and without time of its own: when a push arrives, when it is
 * answered, when a worker takes and answers a request and when a connection breaks is up to the scheduler.
 */
export class ScheduledRedis {
  /** Requests that were written at least once, with the number of their call, which is their arguments. */
  readonly written = new Map<string, number>()
  /** Requests that got into the list, once for each time. */
  readonly arrived: string[] = []
  /** Requests of a push whose answer reached the hub. */
  readonly acknowledged = new Set<string>()
  /** Requests that a worker took. */
  readonly ran = new Set<string>()
  /** Requests that a caller took out of the list. */
  readonly removed = new Set<string>()
  /** Requests that a cancellation was sent for, once for each. */
  readonly cancelled: string[] = []
  /** When a request's first reply was there, on the monotonic clock. */
  readonly repliedAt = new Map<string, number>()
  /** Something was sent while there was no connection. */
  wasAway = false
  readonly replies: ScheduledList
  readonly #scheduler: Scheduler
  readonly #outcomes: PushOutcome[]
  readonly #answerOf: (call: number) => Answer
  #lastPush: { number: number; accepted: string[]; at: number } | undefined

  /** `outcomes`: of the pushes in their order; all later ones are answered. */
  constructor(scheduler: Scheduler, outcomes: PushOutcome[], answerOf: (call: number) => Answer) {
    this.#scheduler = scheduler
    this.#outcomes = [...outcomes]
    this.#answerOf = answerOf
    this.replies = new ScheduledList()
  }

  /** Its client is this object: see `push` and `cancel`. */
  get connection(): Connection {
    return {
      isReady: true,
      whenReady: () => this.#moment('connected'),
      send: async <T>(commands: (client: Redis) => Promise<T>): Promise<T> => {
        if (this.#outcomes[0] === 'not connected') {
          this.#outcomes.shift()
          this.wasAway = true
          await this.#moment('not connected')
          throw new NotConnected()
        }
        return commands(this as unknown as Redis)
      },
    } as unknown as Connection
  }

  async push(number: number, messages: string[]): Promise<Pushed> {
    const ids = messages.map(idOf)
    for (const message of messages) this.written.set(idOf(message), Number(/"args":(\d+)/.exec(message)![1]))
    const outcome = this.#outcomes.shift() ?? 'answered'
    const sentAt = monotonicMs()
    await this.#moment(`push ${number} arrives`)
    if (outcome === 'cut off before it arrived') throw new ConnectionLost()
    if (outcome === 'loading') throw new ReplyError('LOADING Redis is loading the dataset in memory')
    if (outcome === 'full') throw new ReplyError("OOM command not allowed when used memory > 'maxmemory'.")
    const last = this.#lastPush
    const repeated = last?.number === number && sentAt - last.at < pushMemoryMs
    if (!repeated) {
      const accepted = outcome.startsWith('over the limit') ? ids.slice(0, ids.length / 2) : ids
      this.#lastPush = { number, accepted, at: monotonicMs() }
      for (const id of accepted) void this.#serve(id)
    }
    const { accepted } = this.#lastPush!
    await this.#moment(`push ${number} answered`)
    if (outcome.endsWith('cut off after it arrived')) throw new ConnectionLost()
    for (const id of accepted) this.acknowledged.add(id)
    return { accepted: accepted.length, length: 7, at: '1795220163659000', repeated, lateMs: 0 }
  }

  async cancel(id: string, text: string): Promise<boolean> {
    this.cancelled.push(id)
    await this.#moment('cancel')
    const removes = text !== '' && this.arrived.includes(id) && !this.ran.has(id)
    if (removes) this.removed.add(id)
    return removes
  }

  async #serve(id: string): Promise<void> {
    this.arrived.push(id)
    const call = this.written.get(id)!
    await this.#moment(`claim of ${call}`)
    if (this.removed.has(id)) return
    this.ran.add(id)
    const answer = this.#answerOf(call)
    if (answer === 'never') return
    await this.#moment(`reply to ${call}`)
    const us = { backlog: 1000, queue: 1, exec: 1000 }
    const error = { code: 'TaskFailed' as const, message: 'no', retryable: answer === 'failed for now' }
    const reply = answer.startsWith('ok')
      ? okReply(id, `${call}`, 'w', us)
      : errorReply({ id, task: 't:1.0', mayHaveRun: false }, error, 'w', us)
    this.repliedAt.set(id, monotonicMs())
    this.replies.push(reply)
    if (answer !== 'ok, twice') return
    // Its answer was lost, and the worker sent it again.
    await this.#moment(`reply to ${call} again`)
    this.replies.push(reply)
  }

  async #moment(label: string): Promise<void> {
    await this.#scheduler.schedule(Promise.resolve(), label)
  }
}

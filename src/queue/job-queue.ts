import { command, near } from '../redis/client.ts'
import type { Redis } from '../redis/connection.ts'
import { NotConnected } from '../redis/failures.ts'
import { run } from '../redis/library.ts'
import {
  type Enqueued,
  type Moved,
  readEnqueued,
  readMoved,
  readSettledJobs,
  type SettledJobs,
} from '../wire/answers.ts'
import type { Keys, QueueKeys } from '../wire/keys.ts'
import { cancelMemoryMs, deadMs, maxBatchBytes, maxDead, pushMemoryMs } from './queue.ts'

/** How a job ended that does not only go. */
export interface JobEnd {
  /** Its held id. */
  id: string
  outcome: 'done' | 'retry' | 'pass' | 'putoff' | 'dead' | 'expired' | 'cancelled' | 'moved'
  /** For a further try, or the first one that was put off: milliseconds from now. */
  delayMs: number
  /**
   * In its place, of a run of merged jobs, for each of its keys: `r<ms>`, it failed and is tried again after that; `d<place>`, it failed, and
   * its payload of that place, counted from 1, is given up; `x<place>`, the same of one that is no JSON; `b<ms>`, it was not run and comes back after that.
   */
  words?: readonly string[]
  /** How many keys it had, of a run of merged jobs. */
  keys?: number
  /** Its result as JSON, its failure as failureText() has it, or the shard that it was moved to; empty for what was not run. */
  text: string
  /** The job that follows it, without its `at`, behind the name of its queue and a space where that is another one; else empty. */
  following: string
}

/** Which time of holding a job it ends: by its leading `at`, empty where it has none. */
export type HeldEnd = JobEnd & { at: string }

/** Read at a time. */
const dueSchedules = 20
/** The same of jobs, each of which may be a megabyte. */
const dueAtOnce = 20
/** So many jobs are moved in one step when they are due: it takes Redis less than a millisecond. */
const dueBatch = 200
/** So many are told of the end of one job; others look again by themselves. */
const maxWaiters = 100
/** A job that came from another queue is known for so long, in case the worker that sent it died before it knew. */
const cameMs = 30 * 24 * 3600 * 1000
/** A batch whose maker died before all its jobs were enqueued is forgotten after this. */
const openBatchMs = 24 * 3600 * 1000

/** An entry whose time has come. */
export interface DueSchedule {
  name: string
  tickMs: number
  text: string | null
}

/** What a queue does for jobs alone, one atomic step each. */
export class JobQueue {
  readonly name: string
  readonly keys: QueueKeys

  constructor(name: string, keys: Keys) {
    this.name = name
    this.keys = keys.queue(name)
  }

  /** Puts jobs in, all of them or none. Repeated under the same number it does nothing. */
  async enqueue(client: Redis, hubId: string, number: number, messages: readonly string[]): Promise<Enqueued> {
    const { jobs, jobBell, enqueued } = this.keys
    return readEnqueued(
      await run(client, 'enqueue', [jobs, jobBell, enqueued(hubId)], [number, pushMemoryMs, ...messages]),
    )
  }

  /**
   * How many replicas have all that this hub's last batch wrote, as soon as one has, or after `ms`. To be asked when that batch was answered:
   * Redis waits for a replica although it refused to write. It counts what this connection wrote, and a batch that is repeated on another one
   * writes nothing: hence the write.
   */
  async replicasOf(client: Redis, hubId: string, ms: number): Promise<number> {
    const { enqueued } = this.keys
    const there = near(client, enqueued(hubId))
    const written = command(client, 'pexpire', enqueued(hubId), pushMemoryMs)
    const confirmed = command(there, 'wait', 1, ms)
    confirmed.catch(() => undefined)
    await written
    // Of a Cluster another node may have it by now: what the old one wrote before says nothing of it.
    if (near(client, enqueued(hubId)) !== there) throw new NotConnected('its slot has moved to another node')
    return Number(await confirmed)
  }

  /** Moves what is due into its list. Harmless to repeat. */
  async moveDue(client: Redis): Promise<Moved> {
    const { jobs, jobBell } = this.keys
    return readMoved(await run(client, 'due', [jobs, jobBell], [dueBatch, maxBatchBytes]))
  }

  /** Ends jobs that this worker holds; of what it holds no more, or holds again since, nothing is changed. */
  async settle(client: Redis, workerId: string, ends: readonly HeldEnd[]): Promise<SettledJobs> {
    const { held, jobs, jobBell } = this.keys
    const args = ends.flatMap(({ id, at, outcome, delayMs, words, text, following }) => {
      return [id, at, outcome, words?.join(' ') ?? Math.round(delayMs), text, following]
    })
    const answer = await run(client, 'settle', [held(workerId), jobs, jobBell], [maxDead, deadMs, ...args])
    return readSettledJobs(
      answer,
      ends.map(({ id }) => id),
    )
  }

  /**
   * Puts a job in that comes from another queue, once, however often it is sent: for `rememberMs`, as long as forget() is not called
   * for it. Returns whether it came now.
   */
  async forward(client: Redis, message: string, rememberMs: number = cameMs): Promise<boolean> {
    const { jobs, jobBell } = this.keys
    return (await run(client, 'forward', [jobs, jobBell], [rememberMs, message])) === 1
  }

  async forget(client: Redis, id: string): Promise<void> {
    await command(client, 'del', this.keys.came(id))
  }

  /** Removes an entry that has jobs enqueued at its times. Returns whether there was one. */
  async removeSchedule(client: Redis, name: string): Promise<boolean> {
    return (await run(client, 'schedule', [this.keys.jobs], [name, '', ''])) === 1
  }

  /**
   * Writes an entry in the place of `before`, as that was read, empty where there was none, or of whatever is there; without a time it is
   * paused. False where another one is there by now, and nothing was written.
   */
  async schedule(
    client: Redis,
    name: string,
    text: string,
    nextMs: number | undefined,
    before: string | undefined,
  ): Promise<boolean> {
    const expected = before === undefined ? [] : [before]
    return (await run(client, 'schedule', [this.keys.jobs], [name, text, nextMs ?? '', ...expected])) !== -1
  }

  /** The time of an entry has come: enqueues its job and sets its next time, unless somebody was quicker. */
  async tick(
    client: Redis,
    name: string,
    tickMs: number,
    nextMs: number | undefined,
    message: string,
  ): Promise<boolean> {
    const { jobs, jobBell } = this.keys
    return (await run(client, 'tick', [jobs, jobBell], [name, tickMs, nextMs ?? '', message])) === 1
  }

  /** Entries whose time has come, with that time and their texts; the first ones, until `nowMs`, but for so many that are left to others. */
  async dueSchedules(client: Redis, nowMs: number, left: number): Promise<DueSchedule[]> {
    const { cron, ticks } = this.keys
    const range = [ticks, '-inf', Math.floor(nowMs), 'LIMIT', left, dueSchedules, 'WITHSCORES']
    const flat = (await command(client, 'zrangebyscore', ...range)) as string[]
    if (flat.length === 0) return []
    const names = flat.filter((_, at) => at % 2 === 0)
    const texts = (await command(client, 'hmget', cron, ...names)) as (string | null)[]
    return names.map((name, at) => ({ name, tickMs: scoreOf(flat[at * 2 + 1]!), text: texts[at] ?? null }))
  }

  /** Removes dead jobs, exactly as they lie there. Returns how many were there. */
  async deleteDead(client: Redis, texts: readonly string[]): Promise<number> {
    return (await command(client, 'zrem', this.keys.dead, ...texts)) as number
  }

  /** Says why its time was left to others; that is seen until one of them takes it. */
  async tellUnkept(client: Redis, name: string, tickMs: number, why: string): Promise<void> {
    await command(client, 'hset', this.keys.cron, `${name}:problem`, `${tickMs} ${why}`)
  }

  /** When the next one is, Redis milliseconds, behind so many that are left to others. */
  async nextSchedule(client: Redis, left: number): Promise<number | undefined> {
    const [, score] = (await command(client, 'zrange', this.keys.ticks, left, left, 'WITHSCORES')) as string[]
    return score === undefined ? undefined : scoreOf(score)
  }

  /** What follows a batch whose jobs have all ended: messages without `at`, or empty. To be repeated is harmless. */
  openBatch(client: Redis, id: string, after: string, failed: string): Promise<unknown> {
    return this.#batch(client, [id, 'open', after, failed, openBatchMs])
  }

  /** All jobs of the batch are enqueued. */
  closeBatch(client: Redis, id: string, total: number): Promise<unknown> {
    return this.#batch(client, [id, 'close', total, '', 0])
  }

  /** A job of the batch has ended, in another queue. */
  tally(client: Redis, batch: string, id: string, how: string): Promise<unknown> {
    return this.#batch(client, [batch, id, how, '', 0])
  }

  /** Says how far a job is that runs: for so long, unless it is said again. */
  async tellProgress(client: Redis, id: string, progress: string, ms: number): Promise<void> {
    await command(client, 'set', this.keys.progress(id), progress, 'PX', ms)
  }

  async forgetProgress(client: Redis, id: string): Promise<void> {
    await command(client, 'del', this.keys.progress(id))
  }

  /** What somebody said of it, unread. */
  async progress(client: Redis, id: string): Promise<unknown> {
    return command(client, 'get', this.keys.progress(id))
  }

  /** The record of a batch; empty when there is none. */
  async batch(client: Redis, id: string): Promise<Record<string, string>> {
    return (await command(client, 'hgetall', this.keys.batch(id))) as Record<string, string>
  }

  #batch(client: Redis, args: (string | number)[]): Promise<unknown> {
    const { jobs, jobBell } = this.keys
    return run(client, 'batch', [jobs, jobBell], args)
  }

  /**
   * Cancels a tracked job. `isToCome`: one that is not there yet, as a later step of a chain, is kept away when it comes.
   * Returns its state as it was, empty when none is known.
   */
  async withdraw(client: Redis, id: string, isToCome = false): Promise<string> {
    const { jobs, cancelled } = this.keys
    return (await run(client, 'withdraw', [jobs, cancelled], [id, cancelMemoryMs, isToCome ? deadMs : 0])) as string
  }

  /**
   * The record of a tracked job, as fields and values. As long as it has not ended the hub is told of that, under this ticket; also
   * where it is to come within `toComeMs`.
   */
  async await(client: Redis, id: string, ticket: string, hubId: string, toComeMs = 0): Promise<string[]> {
    return (await run(
      client,
      'await',
      [this.keys.job(id)],
      [ticket, hubId, maxWaiters, Math.ceil(toComeMs)],
    )) as string[]
  }

  /** The same without waiting for anything. */
  async record(client: Redis, id: string): Promise<string[]> {
    return Object.entries((await command(client, 'hgetall', this.keys.job(id))) as Record<string, string>).flat()
  }

  /** A job that waits for that time, Redis milliseconds, exactly as it lies there; undefined where it does not. */
  async lyingAt(client: Redis, state: 'scheduled' | 'retrying', id: string, atMs: number): Promise<string | undefined> {
    const set = state === 'scheduled' ? this.keys.scheduled : this.keys.retries
    for (let from = 0; ; from += dueAtOnce) {
      const range = [atMs, atMs, 'BYSCORE', 'LIMIT', from, dueAtOnce]
      const texts = (await command(client, 'zrange', set, ...range)) as string[]
      const found = texts.find(text => /^\{"at":\d+,"ttl":\d+,"id":"([\w-]+)"/.exec(text)?.[1] === id)
      if (found !== undefined || texts.length < dueAtOnce) return found
    }
  }

  /**
   * Has a key run now, gives up what it is stuck at, or deletes its payloads. Returns how many jobs or payloads that concerned; -1 where
   * nothing can be skipped because it runs, -2 where only a worker could.
   */
  async actOnKey(
    client: Redis,
    task: string,
    key: string,
    act: 'run' | 'skip' | 'delete',
    named = '',
  ): Promise<number> {
    const { jobs, jobBell } = this.keys
    return (await run(client, 'key', [jobs, jobBell], [task, key, act, maxDead, deadMs, named])) as number
  }

  /** Takes one job that waits out of its list, or of the line of its key, exactly as it lies there. Returns whether it was there. */
  async drop(client: Redis, task: string, key: string | undefined, text: string): Promise<boolean> {
    const { jobs, jobBell } = this.keys
    return (await run(client, 'key', [jobs, jobBell], [task, key ?? '', 'drop', text, 0])) === 1
  }

  /** Whether a job of a key waits here, or runs; undefined where the queue's shards are not those of this epoch. */
  async hasKey(client: Redis, task: string, key: string, epoch: number): Promise<boolean | undefined> {
    const { jobs, jobBell } = this.keys
    const answer = await run(client, 'key', [jobs, jobBell], [task, key, 'has', epoch, 0])
    return answer === -3 ? undefined : answer === 1
  }

  /**
   * Jobs that are dead, or wait for their time or next try, exactly as they lie there, become others that wait to be taken. Returns how
   * many were there.
   */
  async revive(client: Redis, pairs: readonly { lying: string; message: string }[]): Promise<number> {
    const { jobs, jobBell } = this.keys
    const args = pairs.flatMap(({ lying, message }) => [lying, message])
    return (await run(client, 'revive', [jobs, jobBell], args)) as number
  }
}

/** A score as Redis writes it. */
const scoreOf = (text: string): number => Number(text.replace('inf', 'Infinity'))

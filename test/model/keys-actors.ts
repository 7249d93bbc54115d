import assert from 'node:assert/strict'
import type { Redis } from 'ioredis'
import { JobQueue } from '../../src/queue/job-queue.ts'
import { deadMs, maxDead, Queue } from '../../src/queue/queue.ts'
import { libraryText, run } from '../../src/redis/library.ts'
import { failureText } from '../../src/wire/job-part.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { leadingAt } from '../../src/wire/message.ts'
import {
  type Dead,
  type Held,
  type JobOutcome,
  type KeyAct,
  type KeysModel,
  lineTask,
  mergedTasks,
  type Rule,
} from './keys-model.ts'
import type { KeySpec } from './keys-steps.ts'
import { Wire } from './wire.ts'

const clockKey = 'model:clock'

/** The library with a clock that the model sets, and that stands still while a function runs. */
export const withSetClock = (library: string): string => {
  const clock = `local function set_clock() local t = redis.call('GET', '${clockKey}') return { string.sub(t, 1, -7), string.sub(t, -6) } end`
  const [head, ...lines] = library.split('\n')
  return [head, clock, ...lines].join('\n').replaceAll("redis.call('TIME')", 'set_clock()')
}

export const loadWithSetClock = (redis: Redis, library: string = libraryText()): Promise<unknown> =>
  redis.function('LOAD', 'REPLACE', withSetClock(library))

const failure = failureText({ code: 'E', message: 'a {b} [c' })
const leaseMs = 3_600_000

/** The real side of a run: the functions of one queue, and two workers. */
export class KeysActors {
  readonly redis: Redis
  readonly queue: Queue
  readonly jobs: JobQueue
  readonly model: KeysModel
  readonly wire: Wire
  #number = 0
  #made = 0

  constructor(redis: Redis, namespace: string, model: KeysModel, isFenced: boolean) {
    const keys = makeKeys(namespace)
    this.redis = redis
    this.queue = new Queue('q', keys)
    this.jobs = new JobQueue('q', keys)
    this.model = model
    this.wire = new Wire(isFenced)
  }

  async setClock(byMs: number): Promise<void> {
    this.model.nowUs += byMs * 1000
    await this.redis.set(clockKey, String(this.model.nowUs))
  }

  /** A little later, so that one step is not at the time of another. */
  async tick(): Promise<void> {
    this.model.nowUs += 1234
    await this.redis.set(clockKey, String(this.model.nowUs))
  }

  async enqueue(specs: readonly KeySpec[]): Promise<void> {
    const ids = specs.map(() => `j${++this.#made}`)
    const messages = specs.map((spec, at) => messageOf(ids[at]!, spec))
    for (let time = 0; time < 2; time++) {
      if (time === 0) this.#number++
      await this.jobs.enqueue(this.redis, 'h', this.#number, messages)
    }
    let merged = 0
    for (const [at, { task, key, payload, score, delayMs }] of specs.entries()) {
      const dueMs = delayMs > 0 ? this.model.nowMs + delayMs : undefined
      if (task !== lineTask) this.model.enqueueMerged(task, key, { text: payload, score }, ++merged, dueMs)
      else {
        const since = dueMs === undefined ? this.model.nowUs : dueMs * 1000
        const job = { id: ids[at]!, at: since, mayWait: delayMs > 0, tries: 0, losses: 0 }
        this.model.enqueueLine(key, job, dueMs)
      }
    }
  }

  async claim(worker: string, slots: number, rule: Rule | undefined, bytes: number): Promise<void> {
    const { calls, bell, held, leases, jobs, jobBell } = this.jobs.keys
    // What a claim brings while a settle is in doubt is a matter of the model of jobs.
    await this.wire.reconnect(worker)
    await this.queue.beat(this.redis, worker, leaseMs, true)
    // Whoever claims was woken.
    await this.redis.del(jobBell)
    const rules = rule ? Object.fromEntries(Object.keys(mergedTasks).map(task => [task, rule])) : {}
    const words = Object.entries(rules).flatMap(([task, { batch, payloads }]) => [task, batch, payloads])
    const keys = [calls, bell, held(worker), leases, jobs, jobBell]
    const answer = (await run(this.redis, 'claim', keys, [worker, slots, slots, bytes, 0, ...words])) as [
      string,
      string[],
    ]
    let left = bytes
    let taken = 0
    for (; taken < slots && left > 0; taken++) {
      const take = this.model.take(worker, rules, left)
      if (!take) break
      const text = answer[1][taken]
      assert(text !== undefined, 'something is due, and was not given')
      const { id, job } = JSON.parse(text)
      assert(job.fence > this.model.lastFence, 'the token is higher than all before')
      this.model.lastFence = job.fence
      const expected = take(job.fence, id)
      assert.equal(heldText(id, text), shownHeld(id, expected), 'what was given')
      const { takenSinceUs, nowUs } = this.model
      if (expected.kind === 'job' && takenSinceUs <= nowUs)
        assert.equal(job.since, takenSinceUs, 'since when it could run')
      left -= Buffer.byteLength(expected.kind === 'run' ? text : text.replace(/"fence":\d+,("since":\d+,)?/, ''))
    }
    assert.equal(answer[1].length, taken, 'nothing else is given')
  }

  async settle(
    worker: string,
    heldId: string,
    held: Held,
    words: string[] | undefined,
    outcome: JobOutcome,
    delayMs: number,
    isGivenUp = false,
  ): Promise<void> {
    await this.wire.reconnect(worker)
    if (!this.#isHeld(worker, heldId, held)) return
    const id = heldId.slice('job:'.length)
    const isRun = held.kind === 'run'
    const own =
      isRun && words ? held.keys.map((taken, at) => placed(words[at] ?? 'b0', taken.payloads.length)) : undefined
    const text = await this.redis.hget(this.queue.keys.held(worker), heldId)
    const end = {
      id: heldId,
      at: leadingAt(text!),
      outcome: isRun ? (own ? ('retry' as const) : ('done' as const)) : outcome,
      delayMs,
      ...(own ? { words: own } : {}),
      text: own || outcome === 'retry' || outcome === 'pass' || outcome === 'dead' ? failure : '',
      following: '',
    }
    const send = async () => {
      await this.jobs.settle(this.redis, worker, [end])
      if (!this.#isHeld(worker, heldId, held)) return
      if (isRun) this.model.settleRun(worker, id, own)
      else this.model.settleJob(worker, id, outcome, delayMs)
    }
    if (isGivenUp) return this.wire.giveUp(worker, send, send)
    for (let time = 0; time < 2; time++) await send()
  }

  /** Whether a worker still holds what it was given then. That it holds the same for another run is not to be met. */
  #isHeld(worker: string, heldId: string, given: Held | undefined): boolean {
    const held = this.model.held.get(worker)!.get(heldId)
    assert(held === undefined || held === given, `${heldId} is another run's by now`)
    return held !== undefined
  }

  /** Sent twice, or given up: then it is looked again for what is held. */
  async handback(worker: string, isChosen: (at: number) => boolean, isGivenUp: boolean): Promise<void> {
    await this.wire.reconnect(worker)
    const given = new Map([...this.model.held.get(worker)!].filter((_, at) => isChosen(at)))
    if (given.size === 0) return
    const send = async () => {
      const expected = [...given]
        .filter(([heldId, held]) => this.#isHeld(worker, heldId, held))
        .map(([heldId]) => heldId)
      assert.equal(await this.queue.handback(this.redis, worker, 'head', [...given.keys()]), expected.length)
      this.model.giveBack(worker, expected)
    }
    if (isGivenUp) return this.wire.giveUp(worker, send)
    for (let time = 0; time < 2; time++) await send()
  }

  async leave(worker: string): Promise<void> {
    await this.wire.reconnect(worker)
    const heldIds = [...this.model.held.get(worker)!.keys()]
    assert.equal(await this.queue.leave(this.redis, worker, heldIds), heldIds.length)
    this.model.giveBack(worker, heldIds)
  }

  async adopt(lost: string, heir: string): Promise<void> {
    // It would arrive under an identity that comes again here alone.
    this.wire.lose(lost)
    await this.queue.beat(this.redis, heir, leaseMs, true)
    await this.redis.zadd(this.jobs.keys.leases, '1', lost)
    for (let done = false; !done; ) done = (await this.queue.adopt(this.redis, lost, heir))!.done
    this.model.adopt(lost)
  }

  async due(): Promise<void> {
    await this.jobs.moveDue(this.redis)
    this.model.ripen()
  }

  async revive(dead: Dead): Promise<void> {
    const texts = await this.redis.zrange(this.jobs.keys.dead, '0', '-1')
    const text = texts.find(each => each.includes(`"id":"${dead.id}"`))!
    const message = text
      .replace(/^\{"at":\d+,/, '')
      .replace(/"tries":\d+/, '"tries":0')
      .replace(/,"losses":\d+\}$/, '}')
    for (const expected of [1, 0])
      assert.equal(await this.jobs.revive(this.redis, [{ lying: text, message }]), expected)
    this.model.revive(dead)
  }

  async actOn(task: string, key: string, act: KeyAct): Promise<void> {
    const { jobs, jobBell } = this.jobs.keys
    const answer = await run(this.redis, 'key', [jobs, jobBell], [task, key, act, maxDead, deadMs])
    const expected = this.model.actOn(task, key, act, () => `m-${this.model.nowUs}-1`)
    assert.equal(answer, expected, `${act} of ${key}`)
  }

  async lose(worker: string): Promise<void> {
    await this.redis.del(this.jobs.keys.held(worker))
    this.model.lose(worker)
  }

  async freeOrphans(): Promise<void> {
    await this.queue.beat(this.redis, 'a', leaseMs, true, { moves: true })
    this.model.freeOrphans()
  }
}

/** `d` with a place that is there. */
const placed = (word: string, count: number): string =>
  word.startsWith('d') ? `d${((Number(word.slice(1)) - 1) % count) + 1}` : word

const messageOf = (id: string, { task, key, payload, score, delayMs }: KeySpec): string => {
  const escaped = JSON.stringify(key).replace(/[[\]{}]/g, char => `\\u00${char.charCodeAt(0).toString(16)}`)
  const part = [
    `"key":${escaped}`,
    ...(task === lineTask ? [] : ['"merged":true']),
    ...(task === lineTask || score === undefined ? [] : [`"score":${score}`]),
    ...(mergedTasks[task] === 'first' ? ['"scores":"first"'] : []),
    ...(delayMs > 0 ? [`"delay":${delayMs}`] : []),
  ]
  return `"ttl":0,"id":"${id}","job":{${part.join()}},"task":"${task}","args":${payload}}`
}

/** What Redis holds, and what the model holds, in the same words. */
export const heldText = (id: string, text: string): string => {
  const { at, task, job, args } = JSON.parse(text)
  if (!job.run) return JSON.stringify({ id, at, task, key: job.key, tries: job.tries ?? 0 })
  let from = 0
  const keys = job.run.map(([key, tries, sizes]: [string, number, number[]]) => {
    const scores = sizes.filter((_, place) => place % 2 === 1)
    from += scores.length
    const payloads = args.slice(from - scores.length, from)
    return { key, tries, payloads: payloads.map((payload: unknown, place: number) => [payload, scores[place]]) }
  })
  return JSON.stringify({ id, at, task, keys })
}

export const shownHeld = (id: string, held: Held): string => {
  if (held.kind === 'job') {
    const { at, tries } = held.job
    return JSON.stringify({ id, at, task: held.task, key: held.key, tries })
  }
  const keys = held.keys.map(({ key, tries, payloads }) => {
    return { key, tries, payloads: payloads.map(([text, score]) => [JSON.parse(text), score]) }
  })
  return JSON.stringify({ id, at: held.at, task: held.task, keys })
}

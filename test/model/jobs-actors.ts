import assert from 'node:assert/strict'
import type { Redis } from 'ioredis'
import { hastenedMessage } from '../../src/jobs/job-text.ts'
import type { JobEnd } from '../../src/queue/job-queue.ts'
import { JobQueue } from '../../src/queue/job-queue.ts'
import { Queue } from '../../src/queue/queue.ts'
import { failureText, jobPartText } from '../../src/wire/job-part.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { jobBody, requestTail, unstamped } from '../../src/wire/message.ts'
import { heldIdOf, type JobsModel, jobOf, type ModelJob, type Outcome } from './jobs-model.ts'

/** The real side of a run: the functions of two queues, and two workers in each, by name. */
export class JobsActors {
  readonly redis: Redis
  readonly namespace: string
  readonly queues: Record<string, JobQueue>
  readonly #lists: Record<string, Queue>
  #number = 0
  #last: { queue: string; number: number; messages: string[] } | undefined

  constructor(redis: Redis, namespace: string) {
    this.redis = redis
    this.namespace = namespace
    const keys = makeKeys(namespace)
    this.queues = { q: new JobQueue('q', keys), r: new JobQueue('r', keys) }
    this.#lists = { q: new Queue('q', keys), r: new Queue('r', keys) }
  }

  async enqueue(model: JobsModel, queue: string, jobs: ModelJob[]): Promise<void> {
    const messages = jobs.map(messageOf)
    this.#last = { queue, number: ++this.#number, messages }
    const { twins, repeated } = await this.queues[queue]!.enqueue(this.redis, 'h', this.#number, messages)
    const expected = jobs.flatMap((job, place) => {
      const there = model.add(job)
      return there === undefined ? [] : [[place, there] as const]
    })
    assert.deepEqual([...twins], expected, 'who is there already')
    assert.equal(repeated, false)
  }

  /** Its answer was lost. */
  async enqueueAgain(): Promise<void> {
    if (!this.#last) return
    const { queue, number, messages } = this.#last
    const { repeated } = await this.queues[queue]!.enqueue(this.redis, 'h', number, messages)
    assert.equal(repeated, number === this.#number)
  }

  /** Time passes for one that waits for its own. */
  async ripen(model: JobsModel, job: ModelJob): Promise<void> {
    const { scheduled, retries } = this.queues[job.queue]!.keys
    for (const key of [scheduled, retries])
      for (const text of await this.redis.zrange(key, '0', '-1'))
        if (text.includes(`"id":"${job.id}"`)) await this.redis.zadd(key, '1', text)
    const { count } = await this.queues[job.queue]!.moveDue(this.redis)
    assert.equal(count, 1, 'what was due')
    model.ripen(job.id)
  }

  /** One that waits for its time is taken at once. */
  async hasten(model: JobsModel, job: ModelJob): Promise<void> {
    const queue = this.queues[job.queue]!
    const { scheduled, retries } = queue.keys
    const lie = [...(await this.redis.zrange(scheduled, '0', '-1')), ...(await this.redis.zrange(retries, '0', '-1'))]
    const lying = lie.find(text => idOf(text) === job.id)!
    const message = hastenedMessage(lying)
    for (const expected of [1, 0]) assert.equal(await queue.revive(this.redis, [{ lying, message }]), expected)
    model.ripen(job.id)
  }

  async claim(model: JobsModel, queue: string, worker: string, slots: number): Promise<void> {
    await this.#lists[queue]!.beat(this.redis, worker, 3_600_000, true)
    const claimed = await this.#lists[queue]!.claim(this.redis, worker, { slots, jobs: slots })
    const ids = claimed!.requests.map(({ text }) => idOf(text))
    assert.deepEqual(ids, model.claim(queue, worker, slots, ids), 'claimed')
  }

  async settle(
    model: JobsModel,
    queue: string,
    worker: string,
    id: string,
    outcome: Outcome,
    following: ModelJob | undefined,
  ): Promise<void> {
    const end: JobEnd = {
      id: `job:${id}`,
      outcome,
      delayMs: outcome === 'retry' || outcome === 'putoff' ? 3_600_000 : 0,
      text:
        outcome === 'done'
          ? '"result"'
          : outcome === 'retry' || outcome === 'dead'
            ? failureText({ code: 'E', message: 'a {b} [c' })
            : '',
      following: following ? (following.queue === queue ? '' : `${following.queue} `) + messageOf(following) : '',
    }
    for (let time = 0; time < 2; time++) await this.queues[queue]!.settle(this.redis, worker, [end])
    model.settle(queue, worker, id, outcome, following)
  }

  /** A worker dies, and another one adopts from it. */
  async adopt(model: JobsModel, queue: string, lost: string, heir: string): Promise<void> {
    const { leases } = this.queues[queue]!.keys
    await this.#lists[queue]!.beat(this.redis, heir, 3_600_000, true)
    await this.redis.zadd(leases, '1', lost)
    // What comes out of a hash has no order: it is put back in the order in which the model has it.
    const order = [...model.heldBy(queue, lost).values()]
    for (let done = false; !done; ) done = (await this.#lists[queue]!.adopt(this.redis, lost, heir))!.done
    model.passOn(queue, lost, heir)
    await this.#reorder(model, queue, order)
  }

  async leave(model: JobsModel, queue: string, worker: string): Promise<void> {
    await this.#lists[queue]!.beat(this.redis, worker, 3_600_000, true)
    const order = [...model.heldBy(queue, worker).values()]
    await this.#lists[queue]!.leave(this.redis, worker, [...model.heldBy(queue, worker).keys()])
    model.passOn(queue, worker, undefined)
    await this.#reorder(model, queue, order)
  }

  async withdraw(model: JobsModel, job: ModelJob): Promise<void> {
    assert.equal(await this.queues[job.queue]!.withdraw(this.redis, job.id), job.state)
    model.withdraw(job)
  }

  async revive(model: JobsModel, job: ModelJob): Promise<void> {
    const queue = this.queues[job.queue]!
    const dead = (await this.redis.zrange(queue.keys.dead, '0', '-1')).find(text => idOf(text) === job.id)!
    const message = dead
      .replace(/^\{"at":\d+,/, '')
      .replace(/"tries":\d+/, '"tries":0')
      .replace(/,"losses":\d+\}$/, '}')
    const count = model.revive(job) ? 1 : 0
    for (const expected of [count, 0])
      assert.equal(await queue.revive(this.redis, [{ lying: dead, message }]), expected)
  }

  /** What is held to be done elsewhere is done, up to some point, as often as it takes. */
  async sendOut(model: JobsModel, key: string, isReleased: boolean): Promise<void> {
    const out = model.outs.get(key)!
    const { worker, from, to, job, tally } = out
    const heldId = heldIdOf(out)
    const own = this.queues[from]!
    const text = (await this.redis.hget(own.keys.held(worker), heldId))!
    assert(text, `${heldId} is not held by ${worker}`)
    const target = this.queues[to]!
    if (tally) {
      const how = text.split(' ')[3]!
      assert.equal(text, `tally ${tally.batch} ${tally.job} ${how}`)
      const isDone = how === 'done'
      if (tally.isDone !== undefined) assert.equal(isDone, tally.isDone, text)
      await target.tally(this.redis, tally.batch, tally.job, isDone ? 'done' : 'dead')
      model.tally({ ...tally, isDone })
    } else {
      const came = await target.forward(this.redis, text)
      assert.equal(came, !model.came.has(job!.id), 'whether it came now')
      if (came) model.add(jobOf(job!.id, to, job))
      model.came.add(job!.id)
    }
    if (!isReleased) {
      model.situations.add('done elsewhere, and not known to be')
      return
    }
    await this.redis.hdel(own.keys.held(worker), heldId)
    if (job) await target.forget(this.redis, job.id)
    if (job) model.came.delete(job.id)
    model.outs.delete(key)
  }

  async openBatch(model: JobsModel, id: string, queue: string): Promise<void> {
    const message = (end: string) => messageOf(jobOf(`${id}-${end}`, queue, { keep: true }))
    for (let time = 0; time < 2; time++)
      await this.queues[queue]!.openBatch(this.redis, id, message('then'), message('failed'))
    model.batches.set(id, { queue, total: undefined, ended: new Map(), following: undefined })
  }

  async closeBatch(model: JobsModel, id: string): Promise<void> {
    const batch = model.batches.get(id)!
    const whole = `${batch.queue}/${id}`
    const total = [...model.jobs.values()].filter(job => job.batch === whole || job.others.has(whole)).length
    for (let time = 0; time < 2; time++) await this.queues[batch.queue]!.closeBatch(this.redis, id, total)
    batch.total = total
    model.complete(id)
  }

  /**
   * What was put back lies at the head of its list, and is put into this order. Behind it may be what followed a batch. Of two that were put
   * back and that are the same, whichever came first holds its uniqueness.
   */
  async #reorder(model: JobsModel, queue: string, order: string[]): Promise<void> {
    for (const [lock, holder] of model.queues[queue]!.locks) {
      const real = await this.redis.get(this.queues[queue]!.keys.unique(lock))
      if (real && order.includes(real) && order.includes(holder)) model.queues[queue]!.locks.set(lock, real)
    }
    const { jobs, jobsHigh, jobsLow } = this.queues[queue]!.keys
    for (const key of [jobs, jobsHigh, jobsLow]) {
      const texts = await this.redis.lrange(key, 0, -1)
      const returned = texts.filter(text => order.includes(idOf(text)))
      assert(
        texts.slice(0, returned.length).every(text => order.includes(idOf(text))),
        'what was put back is at the head',
      )
      const sorted = returned.toSorted((a, b) => order.indexOf(idOf(b)) - order.indexOf(idOf(a)))
      for (const [place, text] of sorted.entries()) await this.redis.lset(key, place, text)
    }
  }
}

export const idOf = (text: string): string => /"id":"([\w-]+)"/.exec(text)![1]!

const messageOf = ({ id, keep, unique, isUntilStarted, priority, isLater, batch }: ModelJob): string => {
  const part = {
    ...(keep ? { keep: 60_000 } : {}),
    ...(unique === undefined
      ? {}
      : { unique, uniqueMs: 3_600_000, ...(isUntilStarted ? { until: 'started' as const } : {}) }),
    ...(priority ? { priority } : {}),
    ...(isLater ? { delay: 3_600_000 } : {}),
    ...(batch ? { batch } : {}),
  }
  const text = Object.keys(part).length === 0 ? undefined : jobPartText(part)
  return unstamped(0, jobBody(id, text, 't:1.0', '{"brace":"}]"}', requestTail(undefined, 'shop')))
}

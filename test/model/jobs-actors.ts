import assert from 'node:assert/strict'
import type { Redis } from 'ioredis'
import { hastenedMessage } from '../../src/jobs/job-text.ts'
import { type HeldEnd, JobQueue } from '../../src/queue/job-queue.ts'
import { Queue } from '../../src/queue/queue.ts'
import { failureText, jobPartText } from '../../src/wire/job-part.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { jobBody, leadingAt, requestTail, unstamped } from '../../src/wire/message.ts'
import { heldIdOf, type JobsModel, jobOf, type ModelJob, type Out, type Outcome } from './jobs-model.ts'
import { Wire } from './wire.ts'

/** The real side of a run: the functions of two queues, and two workers in each, by name. */
export class JobsActors {
  readonly redis: Redis
  readonly namespace: string
  readonly queues: Record<string, JobQueue>
  readonly wire: Wire
  readonly #lists: Record<string, Queue>
  /** The `at` of each job as it was claimed last. */
  readonly #ats = new Map<string, string>()
  #number = 0
  #last: { queue: string; number: number; messages: string[] } | undefined

  constructor(redis: Redis, namespace: string, isFenced: boolean) {
    this.redis = redis
    this.wire = new Wire(isFenced)
    this.namespace = namespace
    const keys = makeKeys(namespace)
    this.queues = { q: new JobQueue('q', keys), r: new JobQueue('r', keys) }
    this.#lists = { q: new Queue('q', keys), r: new Queue('r', keys) }
  }

  async enqueue(model: JobsModel, queue: string, jobs: ModelJob[], isGivenUp: boolean): Promise<void> {
    await this.wire.reconnect('hub')
    const messages = jobs.map(messageOf)
    const number = ++this.#number
    this.#last = { queue, number, messages }
    const send = async () => {
      const { twins, repeated } = await this.queues[queue]!.enqueue(this.redis, 'h', number, messages)
      assert.equal(repeated, (model.lastNumber.get(queue) ?? 0) >= number)
      if (repeated) return
      model.lastNumber.set(queue, number)
      const expected = jobs.flatMap((job, place) => {
        const there = model.add(job)
        return there === undefined ? [] : [[place, there] as const]
      })
      assert.deepEqual([...twins], expected, 'who is there already')
    }
    if (isGivenUp) this.wire.giveUp('hub', send, send)
    else await send()
  }

  /** Its answer was lost. */
  async enqueueAgain(): Promise<void> {
    await this.wire.reconnect('hub')
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

  async claim(model: JobsModel, queue: string, worker: string, slots: number, isGivenUp = false): Promise<void> {
    const connection = `${queue} ${worker} blocking`
    await this.wire.reconnect(connection)
    await this.#lists[queue]!.beat(this.redis, worker, 3_600_000, true)
    const send = async () => {
      const claimed = await this.#lists[queue]!.claim(this.redis, worker, { slots, jobs: slots })
      const ids = claimed!.requests.map(({ text }) => idOf(text))
      assert.deepEqual(ids, model.claim(queue, worker, slots, ids), 'claimed')
      if (!isGivenUp) for (const { text } of claimed!.requests) this.#ats.set(idOf(text), leadingAt(text))
      return ids
    }
    if (isGivenUp) this.wire.giveUp(connection, async () => void (await send()))
    else model.start(queue, worker, await send())
  }

  /** What reconcile does about claims whose answers were lost. */
  async handback(model: JobsModel, queue: string, worker: string, isGivenUp = false): Promise<void> {
    await this.wire.reconnect(`${queue} ${worker}`)
    const ids = model.unknownTo(queue, worker)
    if (ids.length === 0) return
    const send = async () => {
      const held = ids.map(id => `job:${id}`)
      const returned = await this.#lists[queue]!.handback(this.redis, worker, 'head', held)
      assert.equal(returned, model.handback(queue, worker, ids))
    }
    if (isGivenUp) this.wire.giveUp(`${queue} ${worker}`, send)
    else await send()
  }

  /** A handler ends, and its worker tells what becomes of its job until it is answered. */
  async settle(
    model: JobsModel,
    id: string,
    outcome: Outcome,
    following: ModelJob | undefined,
    isGivenUp = false,
  ): Promise<void> {
    const place = model.runs.get(id)!
    const { queue, worker } = place
    const job = model.jobs.get(id)!
    const at = this.#ats.get(id)!
    const connection = `${queue} ${worker}`
    await this.wire.reconnect(connection)
    model.runs.delete(id)
    if (outcome === 'retry' || outcome === 'dead') job.failures++
    const end: HeldEnd = {
      id: `job:${id}`,
      at,
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
    const send = async () => {
      // The same worker may hold it again by now: that run is not the one that ended.
      const held = await this.redis.hget(this.queues[queue]!.keys.held(worker), end.id)
      await this.queues[queue]!.settle(this.redis, worker, [end])
      if (held !== null && leadingAt(held) !== at) return
      model.settle(queue, worker, id, outcome, following)
    }
    if (!isGivenUp) {
      for (let time = 0; time < 2; time++) await send()
      return
    }
    model.doubted.set(id, place)
    this.wire.giveUp(connection, send, async () => {
      await send()
      model.doubted.delete(id)
    })
  }

  /** A worker dies, and another one adopts from it. */
  async adopt(model: JobsModel, queue: string, lost: string, heir: string): Promise<void> {
    this.#end(model, queue, lost)
    await this.wire.reconnect(`${queue} ${heir}`)
    const { leases } = this.queues[queue]!.keys
    await this.#lists[queue]!.beat(this.redis, heir, 3_600_000, true)
    await this.redis.zadd(leases, '1', lost)
    // What comes out of a hash has no order: it is put back in the order in which the model has it.
    const order = [...model.heldBy(queue, lost).values()]
    const holders = new Map(model.queues[queue]!.locks)
    for (let done = false; !done; ) done = (await this.#lists[queue]!.adopt(this.redis, lost, heir))!.done
    model.passOn(queue, lost, heir)
    await this.#reorder(model, queue, order, holders)
  }

  /** Its process is gone. What it sent last never arrives: it would be under an identity that comes again here alone. */
  #end(model: JobsModel, queue: string, worker: string): void {
    this.wire.lose(`${queue} ${worker}`)
    this.wire.lose(`${queue} ${worker} blocking`)
    model.forgetProcess(queue, worker)
  }

  async leave(model: JobsModel, queue: string, worker: string): Promise<void> {
    await this.wire.reconnect(`${queue} ${worker}`)
    this.#end(model, queue, worker)
    await this.#lists[queue]!.beat(this.redis, worker, 3_600_000, true)
    const order = [...model.heldBy(queue, worker).values()]
    const holders = new Map(model.queues[queue]!.locks)
    await this.#lists[queue]!.leave(this.redis, worker, [...model.heldBy(queue, worker).keys()])
    model.passOn(queue, worker, undefined)
    await this.#reorder(model, queue, order, holders)
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
  async sendOut(model: JobsModel, key: string, isReleased: boolean, isGivenUp = false): Promise<void> {
    const connection = outConnection(model, key)
    await this.wire.reconnect(connection)
    const out = model.outs.get(key)!
    const { worker, from, job } = out
    const heldId = heldIdOf(out)
    const own = this.queues[from]!
    const text = (await this.redis.hget(own.keys.held(worker), heldId))!
    assert(text, `${heldId} is not held by ${worker}`)
    const tell = () => this.#tell(model, out, text)
    if (isGivenUp) {
      this.wire.giveUp(connection, tell)
      return
    }
    await tell()
    if (!isReleased) {
      model.situations.add('done elsewhere, and not known to be')
      return
    }
    await this.redis.hdel(own.keys.held(worker), heldId)
    if (job) await this.queues[out.to]!.forget(this.redis, job.id)
    if (job) model.came.delete(job.id)
    model.outs.delete(key)
  }

  async #tell(model: JobsModel, { to, job, tally }: Out, text: string): Promise<void> {
    const target = this.queues[to]!
    if (tally) {
      const how = text.split(' ')[3]!
      assert.equal(text, `tally ${tally.batch} ${tally.job} ${how}`)
      const isDone = how === 'done'
      if (tally.isDone !== undefined) assert.equal(isDone, tally.isDone, text)
      await target.tally(this.redis, tally.batch, tally.job, isDone ? 'done' : 'dead')
      model.tally({ ...tally, isDone })
      return
    }
    const came = await target.forward(this.redis, text)
    assert.equal(came, !model.came.has(job!.id), 'whether it came now')
    if (came) {
      assert(!model.jobs.has(job!.id), `${job!.id} came twice`)
      model.add(jobOf(job!.id, to, job))
    }
    model.came.add(job!.id)
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
   * What was put back lies at the head of its list, and is put into this order. Behind it may be what followed a batch. Of two that are
   * the same, whichever comes first holds its uniqueness; if one of them is dead now, the other holds it only if it came behind.
   * @param holders of each uniqueness before
   */
  async #reorder(model: JobsModel, queue: string, order: string[], holders: Map<string, string>): Promise<void> {
    const { locks } = model.queues[queue]!
    const wasHere = (id: string | undefined) => id !== undefined && order.includes(id)
    for (const lock of new Set([...locks.keys(), ...holders.keys()])) {
      const real = (await this.redis.get(this.queues[queue]!.keys.unique(lock))) ?? undefined
      const [found, expected] = [wasHere(real), wasHere(locks.get(lock))]
      if (found && (expected || (wasHere(holders.get(lock)) && !locks.has(lock)))) locks.set(lock, real!)
      else if (real === undefined && expected && wasHere(holders.get(lock))) locks.delete(lock)
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

const outConnection = (model: JobsModel, key: string): string => {
  const { worker, from } = model.outs.get(key)!
  return `${from} ${worker}`
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

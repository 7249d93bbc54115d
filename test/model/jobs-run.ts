import assert from 'node:assert/strict'
import type { Redis } from 'ioredis'
import { idOf, JobsActors } from './jobs-actors.ts'
import { heldIdOf, JobsModel, jobOf, type ModelJob, type ModelQueue } from './jobs-model.ts'
import type { Step } from './jobs-steps.ts'

let made = 0
const oneOf = <T>(all: T[], index: number): T | undefined => all[index % Math.max(1, all.length)]
const workers = ['q', 'r'].flatMap(queue => ['a', 'b'].map(worker => [queue, worker] as const))
const openBatches = (model: JobsModel) => [...model.batches].filter(([, { total }]) => total === undefined)
const isWaiting = ({ high, normal, low }: ModelQueue) => high.length + normal.length + low.length > 0

const act = async (model: JobsModel, actors: JobsActors, step: Step): Promise<void> => {
  const jobs = [...model.jobs.values()]
  switch (step.do) {
    case 'enqueue': {
      const added = step.specs.map(({ batch, ...spec }) => {
        const open = batch === undefined ? undefined : oneOf(openBatches(model), batch)
        const own = { ...spec, keep: spec.keep || spec.unique !== undefined }
        const inBatch = open && `${open[1].queue}/${open[0]}`
        return jobOf(`j${++made}`, step.queue, { ...own, batch: inBatch })
      })
      return actors.enqueue(model, step.queue, added, step.isGivenUp)
    }
    case 'enqueueAgain':
      return actors.enqueueAgain()
    case 'ripen':
    case 'hasten': {
      const later = jobs.filter(
        ({ id, queue }) => model.queues[queue]!.scheduled.has(id) || model.queues[queue]!.retries.has(id),
      )
      const job = oneOf(later, step.which)
      return job && actors[step.do](model, job)
    }
    case 'claim':
      return actors.claim(model, step.queue, step.worker, step.slots, step.isGivenUp)
    case 'handback':
      return actors.handback(model, step.queue, step.worker, step.isGivenUp)
    case 'arrive': {
      if (await actors.wire.arrive(step.which)) model.situations.add('a given-up command arrived')
      return
    }
    case 'reconnect':
      return void (await actors.wire.reconnect(`${step.queue} ${step.worker}`))
    case 'settle': {
      const id = oneOf([...model.runs.keys()], step.which)
      if (id === undefined) return
      const following = step.following && jobOf(`j${++made}`, step.following, { keep: true })
      return actors.settle(model, id, step.outcome, following || undefined, step.isGivenUp)
    }
    case 'adopt': {
      const names: [string, string] = step.worker === 'a' ? ['a', 'b'] : ['b', 'a']
      // Each heir takes what came back, and dies of it in turn.
      for (let death = 0; death < step.deaths; death++) {
        const [lost, heir] = death % 2 === 0 ? names : names.toReversed()
        await actors.adopt(model, step.queue, lost!, heir!)
        if (death + 1 < step.deaths) await actors.claim(model, step.queue, heir!, 4)
      }
      return
    }
    case 'leave': {
      const owes = [...model.outs.values()].some(({ worker, from }) => worker === step.worker && from === step.queue)
      return owes ? undefined : actors.leave(model, step.queue, step.worker)
    }
    case 'withdraw': {
      const tracked = jobs.filter(({ keep }) => keep)
      // Most have ended, and nothing becomes of these: nine times of ten it is one that has not.
      const live = tracked.filter(({ state }) => ['waiting', 'scheduled', 'running', 'retrying'].includes(state))
      const job = oneOf(step.which % 10 > 0 && live.length > 0 ? live : tracked, Math.floor(step.which / 10))
      return job && actors.withdraw(model, job)
    }
    case 'revive': {
      const job = oneOf(
        jobs.filter(({ id, queue }) => model.queues[queue]!.dead.has(id)),
        step.which,
      )
      return job && actors.revive(model, job)
    }
    case 'sendOut': {
      const out = oneOf([...model.outs.keys()], step.which)
      return out === undefined ? undefined : actors.sendOut(model, out, step.isReleased, step.isGivenUp)
    }
    case 'openBatch':
      return openBatches(model).length > 2 ? undefined : actors.openBatch(model, `b${++made}`, step.queue)
    case 'closeBatch': {
      const batch = oneOf(openBatches(model), step.which)
      return batch && actors.closeBatch(model, batch[0])
    }
  }
}

/** All keys of both queues are what the model says. */
const compare = async (model: JobsModel, { redis, queues, namespace }: JobsActors): Promise<void> => {
  for (const [name, queue] of Object.entries(model.queues)) {
    const keys = queues[name]!.keys
    const ids = async (list: string) => (await redis.lrange(list, 0, -1)).map(idOf)
    const later = async (set: string) => (await redis.zrange(set, '0', '-1')).map(idOf).sort()
    assert.deepEqual(await ids(keys.jobsHigh), queue.high, `${name}: high`)
    const normal = await ids(keys.jobs)
    model.orderTogether(name, normal)
    assert.deepEqual(normal, queue.normal, `${name}: jobs`)
    assert.deepEqual(await ids(keys.jobsLow), queue.low, `${name}: low`)
    if (isWaiting(queue)) assert.equal(await redis.llen(keys.jobBell), 1, `${name}: nobody is told of what waits`)
    for (const set of ['scheduled', 'retries', 'dead'] as const)
      assert.deepEqual(await later(keys[set]), [...queue[set]].sort(), `${name}: ${set}`)
    for (const worker of ['a', 'b']) {
      const outs = [...model.outs.values()].filter(out => out.worker === worker && out.from === name).map(heldIdOf)
      const held = [...model.heldBy(name, worker).keys(), ...outs].sort()
      assert.deepEqual((await redis.hkeys(keys.held(worker))).sort(), held, `${name}: held by ${worker}`)
    }
    for (const lock of ['u:1', 'u:{2}'])
      assert.equal(await redis.get(keys.unique(lock)), queue.locks.get(lock) ?? null, `${name}: ${lock}`)
  }
  model.together.length = 0
  for (const { id, tries, failures } of model.jobs.values())
    assert(tries <= failures, `${tries} failures of ${id} are counted, and there were ${failures}`)
  for (const job of model.jobs.values())
    await compareRecord(job, await redis.hgetall(queues[job.queue]!.keys.job(job.id)))
  for (const [id, { queue, total, ended, following }] of model.batches) {
    const record = await redis.hgetall(queues[queue]!.keys.batch(id))
    const done = [...ended.values()].filter(isDone => isDone).length
    const counts = [record.total, record.done, record.dead].map(count =>
      count === undefined ? undefined : Number(count),
    )
    const orNone = (count: number) => (count === 0 ? undefined : count)
    assert.deepEqual(counts, [total, orNone(done), orNone(ended.size - done)], `batch ${id}`)
    assert.equal(record.ended !== undefined, following !== undefined, `batch ${id} ended`)
  }
  assert.equal((await redis.keys(`${namespace}:*came:*`)).length, model.came.size, 'what came from elsewhere')
}

const compareRecord = async (job: ModelJob, { state, tries = '0' }: Record<string, string>): Promise<void> => {
  if (!job.keep) return assert.equal(state, undefined, job.id)
  assert.deepEqual([state, Number(tries)], [job.state, job.tries], job.id)
}

/** Everything is run to its end: no job is left, nor anything that is to be done for one. */
const drain = async (model: JobsModel, actors: JobsActors): Promise<void> => {
  await actors.wire.reconnect('hub')
  for (let isOpen = true; isOpen; ) {
    isOpen = false
    for (const [id] of openBatches(model)) await actors.closeBatch(model, id)
    for (const out of [...model.outs.keys()]) await actors.sendOut(model, out, true)
    for (const job of [...model.jobs.values()]) {
      const { scheduled, retries } = model.queues[job.queue]!
      if (scheduled.has(job.id) || retries.has(job.id)) await actors.ripen(model, job)
    }
    for (const [queue, worker] of workers) {
      isOpen ||= model.heldBy(queue, worker).size > 0
      await actors.handback(model, queue, worker)
    }
    for (const queue of ['q', 'r']) await actors.claim(model, queue, 'a', 100)
    for (const id of [...model.runs.keys()]) {
      isOpen = true
      await actors.settle(model, id, 'done', undefined)
    }
    // What follows a batch of which the last one was passed over by this claim waits for the next one.
    isOpen ||= model.outs.size > 0 || Object.values(model.queues).some(isWaiting)
    await compare(model, actors)
  }
  const ends = new Set([...model.jobs.values()].map(({ state }) => state))
  assert.deepEqual(
    [...ends].filter(state => !['done', 'dead', 'expired', 'cancelled'].includes(state)),
    [],
  )
  for (const [id, { following }] of model.batches) assert(following !== undefined, `batch ${id} never ended`)
}

/** One run in a namespace of its own. Returns what came up in it. */
export const runJobs = async (
  redis: Redis,
  namespace: string,
  steps: Step[],
  isFenced = true,
): Promise<Set<string>> => {
  const model = new JobsModel()
  const actors = new JobsActors(redis, namespace, isFenced)
  for (const step of steps) {
    await act(model, actors, step)
    await compare(model, actors)
  }
  await drain(model, actors)
  const keys = await redis.keys(`${namespace}:*`)
  for (const key of keys) {
    const mayStay = /:(leases|dead|jobbell|duebell)$/.test(key) || (await redis.pttl(key)) > 0
    assert(mayStay, `${key} is left behind`)
  }
  if (keys.length > 0) await redis.del(...keys)
  return model.situations
}

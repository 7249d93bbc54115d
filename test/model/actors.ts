import assert from 'node:assert/strict'
import type { Keys } from '../../src/keys.ts'
import { decodeRequest, type Request } from '../../src/message.ts'
import { Queue } from '../../src/queue.ts'
import type { Connection, Redis } from '../../src/redis.ts'
import { Adopt } from '../../src/roles/adopt.ts'
import { Reconcile } from '../../src/roles/reconcile.ts'
import { Settle } from '../../src/roles/settle.ts'
import { Slots } from '../../src/slots.ts'
import { Events } from '../../src/telemetry.ts'
import type { WorkerModel } from './processes.ts'
import { namespace } from './requests.ts'

/** The side of a run that is not a model: one connection to Redis, the queue's methods, and the roles of three workers. */
export interface Actors {
  readonly redis: Redis
  readonly queue: Queue
  readonly keys: Keys
  readonly workers: WorkerActor[]
  /** Workers reply and release under a lost identity: a bug that must be found. */
  readonly unfenced?: boolean
}

/** The parts of a worker that move requests, wired as crew.ts does; when they act is decided by the run. */
export interface WorkerActor {
  readonly slots: Slots
  readonly settle: Settle
  readonly reconcile: Reconcile
  readonly adopt: Adopt
  /** What the last looks of reconcile found. */
  found: { id: string; text: string }[]
  /** The identity that replies and releases go under, when it is not the present one. */
  settlesAs: string | undefined
}

export const makeActors = (redis: Redis, keys: Keys, workers: WorkerModel[]): Actors => {
  const queue = new Queue('q', keys)
  return { redis, queue, keys, workers: workers.map(worker => makeWorkerActor(redis, queue, worker)) }
}

const makeWorkerActor = (redis: Redis, queue: Queue, worker: WorkerModel): WorkerActor => {
  const connection = directly(redis)
  const slots = new Slots(1000, 0)
  const workerId = () => worker.id
  const fail = (error: Error) => assert.fail(`a worker ran into ${error.message}`)
  const settle = new Settle({
    queue,
    connection,
    workerId: () => actor.settlesAs ?? worker.id,
    redisNowMs: () => 0,
    isLeaseCertain: () => true,
    renewLease: () => Promise.resolve(),
    onSlotsIdle: ids => slots.free(ids),
    onReleased: ids => slots.forget(ids),
    onProblem: fail,
  })
  const actor: WorkerActor = {
    slots,
    settle,
    reconcile: new Reconcile({
      queue,
      connection,
      workerId,
      knows: id => slots.knows(id),
      onFound: found => {
        actor.found = found
      },
    }),
    adopt: new Adopt({
      queue,
      connection,
      events: new Events(),
      workerId,
      take: id => slots.know(id),
      forget: ids => slots.forget(ids),
      decode: decodeAdopted,
      isIdempotent: async task => task === 'again:1.0',
      settle: settlement => settle.add(settlement),
    }),
    found: [],
    settlesAs: undefined,
  }
  return actor
}

/** All that the roles use of a connection, on a client that never breaks. No refusal is one that may pass. */
const directly = (redis: Redis): Connection =>
  ({
    isReady: true,
    whenReady: async () => undefined,
    send: <T>(commands: (client: Redis) => Promise<T>) =>
      commands(redis).catch(error => assert.fail(`refused: ${error.message}`)),
  }) as unknown as Connection

/** As a worker does; undefined for what is not a request. */
export const decodeAdopted = (text: string, heldId: string): Request | undefined => {
  try {
    return decodeRequest(text, heldId.replace(/^lost:/, ''), namespace)
  } catch {
    return undefined
  }
}

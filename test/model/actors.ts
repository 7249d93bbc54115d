import assert from 'node:assert/strict'
import type { Redis } from 'ioredis'
import type { Registrar } from '../../src/catalogue/registrar.ts'
import { Events } from '../../src/figures/events.ts'
import { Queue } from '../../src/queue/queue.ts'
import type { Connection } from '../../src/redis/connection.ts'
import { readSettings } from '../../src/settings/read.ts'
import type { Keys } from '../../src/wire/keys.ts'
import { RedisClock } from '../../src/wire/redis-clock.ts'
import { Adopt } from '../../src/worker/roles/adopt.ts'
import { Farewell } from '../../src/worker/roles/farewell.ts'
import { Reconcile } from '../../src/worker/roles/reconcile.ts'
import { Settle } from '../../src/worker/roles/settle.ts'
import { SlotPool } from '../../src/worker/slot-pool.ts'
import { Slots } from '../../src/worker/slots.ts'
import { atOnePlace } from '../support/one-place.ts'
import { contextOf } from '../support/role-context.ts'
import type { WorkerModel } from './processes.ts'
import { namespace } from './requests.ts'
import { Wire } from './wire.ts'

/** The side of a run that is not a model: one connection to Redis, the queue's methods, and the roles of three workers. */
export interface Actors {
  readonly redis: Redis
  readonly queue: Queue
  readonly keys: Keys
  readonly workers: WorkerActor[]
  /** What is under way on connections that were given up. */
  readonly wire: Wire
  /** Workers reply and release under a lost identity: a bug that must be found. */
  readonly settlesLost?: boolean
  /** Loaded instead of the real one: another bug that must be found. */
  readonly library?: string
}

/** The parts of a worker that move requests, wired as crew.ts does; when they act is decided by the run. */
export interface WorkerActor {
  readonly slots: Slots
  readonly settle: Settle
  readonly reconcile: Reconcile
  readonly adopt: Adopt
  readonly farewell: Farewell
  /** What the last looks of reconcile took over, and what they put back. */
  found: { id: string; text: string }[]
  putBack: string[]
  /** The identity that replies and releases go under, when it is not the present one. */
  settlesAs: string | undefined
}

export const makeActors = (redis: Redis, keys: Keys, workers: WorkerModel[], isFenced: boolean): Actors => {
  const queue = new Queue('q', keys)
  const actors = workers.map(worker => makeWorkerActor(redis, queue, worker))
  return { redis, queue, keys, workers: actors, wire: new Wire(isFenced) }
}

const makeWorkerActor = (redis: Redis, queue: Queue, worker: WorkerModel): WorkerActor => {
  const problem = (where: string) => (error: Error) => {
    if (where !== 'failover') assert.fail(`a worker ran into ${error.message}`)
  }
  const context = contextOf({
    queue,
    commands: directly(redis),
    slots: new Slots(new SlotPool(1000, 0)),
    events: new Events(),
    clock: new RedisClock(),
    registrar: { remove: async () => undefined } as unknown as Registrar,
    stats: () => assert.fail('nobody asks for them'),
    settings: readSettings('worker', { options: { namespace } }),
    workerId: () => actor.settlesAs ?? worker.id,
    intake: {
      ignoreClaimsOf: ids => {
        actor.putBack = [...ids]
      },
    },
    settle: { add: settlement => actor.settle.add(settlement) },
    fetch: { slotsIdle: () => undefined },
    forward: { send: () => undefined },
    beat: { isCertain: true },
    adopt: {
      answer: requests => {
        actor.found = [...requests]
      },
    },
    problem,
  })
  const actor: WorkerActor = {
    slots: context.slots,
    settle: new Settle(context),
    reconcile: new Reconcile(context),
    adopt: new Adopt(context),
    farewell: new Farewell(context),
    found: [],
    putBack: [],
    settlesAs: undefined,
  }
  return actor
}

/** All that the roles use of a connection, on a client that never breaks. No refusal is one that may pass. */
const directly = (redis: Redis): Connection =>
  atOnePlace({
    isReady: true,
    whenReady: async () => undefined,
    send: <T>(commands: (client: Redis) => Promise<T>) =>
      commands(redis).catch(error => assert.fail(`refused: ${error.message}`)),
  })

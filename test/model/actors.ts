import assert from 'node:assert/strict'
import type { Keys } from '../../src/keys.ts'
import { decodeRequest, type Request } from '../../src/message.ts'
import { Queue } from '../../src/queue.ts'
import type { Connection, Redis } from '../../src/redis.ts'
import { RedisClock } from '../../src/redisclock.ts'
import type { Registrar } from '../../src/registrar.ts'
import { Adopt, type AdoptContext } from '../../src/roles/adopt.ts'
import { Farewell, type FarewellContext } from '../../src/roles/farewell.ts'
import { Reconcile, type ReconcileContext } from '../../src/roles/reconcile.ts'
import { Settle, type SettleContext } from '../../src/roles/settle.ts'
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
  readonly farewell: Farewell
  /** What the last looks of reconcile took over, and what they put back. */
  found: { id: string; text: string }[]
  putBack: string[]
  /** What it gives up as it leaves, for others to run again. */
  returning: { id: string; text: string }[]
  /** The identity that replies and releases go under, when it is not the present one. */
  settlesAs: string | undefined
}

export const makeActors = (redis: Redis, keys: Keys, workers: WorkerModel[]): Actors => {
  const queue = new Queue('q', keys)
  return { redis, queue, keys, workers: workers.map(worker => makeWorkerActor(redis, queue, worker)) }
}

const makeWorkerActor = (redis: Redis, queue: Queue, worker: WorkerModel): WorkerActor => {
  const problem = (where: string) => (error: Error) => {
    if (where !== 'failover') assert.fail(`a worker ran into ${error.message}`)
  }
  const context: SettleContext & ReconcileContext & AdoptContext & FarewellContext = {
    queue,
    commands: directly(redis),
    slots: new Slots(1000, 0),
    events: new Events(),
    clock: new RedisClock(),
    registrar: {
      isIdempotent: async (task: string) => task === 'again:1.0',
      remove: async () => undefined,
    } as unknown as Registrar,
    stats: () => assert.fail('nobody asks for them'),
    returning: () => actor.returning,
    workerId: () => actor.settlesAs ?? worker.id,
    decode: decodeAdopted,
    settle: settlement => actor.settle.add(settlement),
    slotsIdle: () => undefined,
    isLeaseCertain: () => true,
    beatAnew: async () => true,
    ignoreClaimsOf: ids => {
      actor.putBack = [...ids]
    },
    redirect: async requests => {
      actor.found = [...requests]
    },
    problem,
  }
  const actor: WorkerActor = {
    slots: context.slots,
    settle: new Settle(context),
    reconcile: new Reconcile(context),
    adopt: new Adopt(context),
    farewell: new Farewell(context),
    found: [],
    putBack: [],
    returning: [],
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

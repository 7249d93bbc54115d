// A whole installation against one Redis: who is there, and who of them is played.
import { setTimeout as sleep } from 'node:timers/promises'
import { defineTask } from '../../dist/index.js'
import { Connection } from '../../dist/redis/connection.js'
import { install } from '../../dist/redis/library.js'
import { readSettings } from '../../dist/settings/read.js'
import { makeKeys } from '../../dist/wire/keys.js'
import { SimulatedHub } from './hubs.mjs'
import { recordTapes } from './tapes.mjs'
import { SimulatedWorker } from './workers.mjs'

const longMs = 3600_000
const tapesOfQueue = 2
const pumpMs = 2
const settleMs = 200
/** How often a hub calls each of its tasks. */
const callsPerSecond = 10

const properties = Object.fromEntries(
  ['customer', 'order', 'amount', 'currency', 'note'].map(name => [
    name,
    { type: 'string', maxLength: 200, description: `The ${name} as it is on the invoice.` },
  ]),
)
const args = { type: 'object', properties, required: ['customer', 'order'], additionalProperties: false }
const result = { type: 'object', properties: { id: { type: 'string' }, total: { type: 'number' } }, required: ['id'] }
const description =
  'Writes an invoice.\n\nNumbers are given out in their order; the same order gets the same number again.'

const makeTask = (queue, n) =>
  defineTask(`queue_${queue}/task_${n}:1.0`, { description, args, result, idempotent: true }, () => ({ id: '1' }))

export const makeSite = ({ queues, tasks, rate }) =>
  Array.from({ length: queues }, (_, queue) => {
    const own = Array.from({ length: tasks }, (_, n) => makeTask(queue, n))
    return { name: `queue-${queue}`, tasks: own, tapes: recordTapes(own, rate, tapesOfQueue) }
  })

class CountedConnection extends Connection {
  underWay = 0

  async send(commands) {
    this.underWay++
    try {
      return await super.send(commands)
    } finally {
      this.underWay--
    }
  }
}

export class Crowd {
  #site
  #options
  #connections
  #keys = makeKeys('pshub')

  constructor(url, site, options) {
    this.#site = site
    this.#options = options
    this.#connections = Array.from(
      { length: options.connections },
      () => new CountedConnection({ target: url, name: 'pshub-simulate', stallMs: 60_000 }),
    )
  }

  async open() {
    for (const connection of this.#connections) connection.open()
    await Promise.all(this.#connections.map(connection => connection.whenReady()))
    await this.#connection(0).send(install)
  }

  async close() {
    // What is under way is nobody's to wait for, and goes on with further commands.
    for (let quietMs = 0; quietMs < settleMs; quietMs += pumpMs) {
      await sleep(pumpMs)
      if (this.#connections.some(connection => connection.underWay > 0)) quietMs = 0
    }
    await Promise.all(this.#connections.map(connection => connection.close()))
  }

  #connection(n) {
    return this.#connections[n % this.#connections.length]
  }

  /** All workers are there; those that are not played have their lease for long. Returns those that are. */
  async workersOf(redis, parts) {
    const { workers: count, share } = this.#options
    const settings = readSettings('worker', { options: { slots: 16 }, env: {} })
    const workers = Array.from({ length: count }, (_, n) => {
      const { name, tasks, tapes } = this.#site[n % this.#site.length]
      const tape = tapes[Math.floor(n / this.#site.length) % tapes.length]
      const worker = new SimulatedWorker({
        connection: this.#connection(n),
        keys: this.#keys,
        settings,
        queue: name,
        tasks,
        tape,
        parts,
      })
      return { worker, leases: this.#keys.queue(name).leases }
    })
    const ids = workers.map(({ worker }) => worker.id)
    for (let from = 0; from < count; from += 500)
      await Promise.all(
        workers.slice(from, from + 500).map(async ({ worker, leases }, at) => {
          await worker.register(Date.now(), from + at < count * share ? ids : [])
          await redis.zadd(leases, Date.now() + longMs, worker.id)
        }),
      )
    return workers.slice(0, Math.round(count * share)).map(({ worker }) => worker)
  }

  /** Hubs that have made their first calls. */
  async hubs() {
    const { hubs: count, share, called } = this.#options
    const hubs = Array.from({ length: Math.round(count * share) }, (_, n) => {
      const own = Array.from({ length: called }, (_, at) => {
        const { tasks } = this.#site[(n + (at % 2)) % this.#site.length]
        return tasks[(Math.floor(n / this.#site.length) + (at >> 1)) % tasks.length].name.full
      })
      return new SimulatedHub({ connection: this.#connection(n), keys: this.#keys, called: own })
    })
    for (let from = 0; from < hubs.length; from += 20)
      await Promise.all(hubs.slice(from, from + 20).map(hub => hub.begin()))
    return hubs
  }
}

/** Does each once a turn, at moments spread evenly over it, whether or not answers come. Returns how late the driver was at the most. */
export const playOpenLoop = async (rings, seconds) => {
  const startedAt = performance.now()
  const sent = rings.map(() => 0)
  let lateMs = 0
  for (let elapsed = 0; elapsed < seconds * 1000; elapsed = performance.now() - startedAt) {
    for (const [at, { all, perSecond, act }] of rings.entries()) {
      const rate = (all.length * perSecond) / 1000
      if (rate === 0) continue
      lateMs = Math.max(lateMs, elapsed - sent[at] / rate)
      for (; sent[at] < elapsed * rate; sent[at]++) act(all[sent[at] % all.length])
    }
    await sleep(pumpMs)
  }
  return lateMs
}

export const workerRing = workers => ({ all: workers, perSecond: 1, act: worker => worker.beat() })
export const hubRing = hubs => ({ all: hubs, perSecond: callsPerSecond, act: hub => hub.call() })

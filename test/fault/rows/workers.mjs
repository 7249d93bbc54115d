// Faults of workers.
import { setTimeout as sleep } from 'node:timers/promises'

/** Long enough to outlive the death of a worker, which is noticed after 5 s. */
const patient = { timeoutMs: 15_000 }

/** Makes calls that run for long, and waits until some worker runs them. */
export const startLongCalls = async (stage, calls) => {
  const before = stage.events().filter(({ e }) => e === 'start').length
  for (const [i, call] of calls.entries()) void stage.callers[i % stage.callers.length].order('call', call)
  const running = () => stage.events().filter(({ e }) => e === 'start').length >= before + calls.length
  await stage.until(running, 3000)
  await sleep(100)
}

const times = (count, call) => Array.from({ length: count }, () => call)

/** The worker that runs most at this moment. */
const busiest = stage => {
  const running = new Map(stage.workers.map(({ name }) => [name, 0]))
  for (const { e, by } of stage.events()) {
    if (e === 'start') running.set(by, running.get(by) + 1)
    else if (e === 'end' || e === 'abort') running.set(by, running.get(by) - 1)
  }
  return stage.workers.toSorted((a, b) => running.get(b.name) - running.get(a.name))[0]
}

/** Kills a worker at the moment at which a command of this kind of its own was passed to Redis. */
const killAt = (stage, pattern) =>
  new Promise(resolve => {
    stage.workerProxy.onPassed = chunk => {
      const [, workerId] = pattern.exec(chunk.toString('latin1')) ?? []
      const member = workerId && stage.workerById(workerId)
      if (!member) return
      stage.workerProxy.onPassed = undefined
      resolve(stage.kill(member))
    }
  })

const releasing = /hdel\r\n\$\d+\r\npshub:\{q\}:held:([\w-]+)/
/** The adopter's own held hash is the third key of adopt.lua. */
const adopting = /pshub:\{q\}:leases\r\n\$\d+\r\npshub:\{q\}:held:[\w-]+\r\n\$\d+\r\npshub:\{q\}:held:([\w-]+)/

/** A worker that sleeps for two leases and does not know it: what it ran is another one's when it wakes. */
const stopped = ms => ({
  load: { ...patient, perSecond: 60 },
  workers: 3,
  workerOptions: { slots: 8 },
  faultMs: 9000,
  afterMs: 8000,
  longestMs: 30_000,
  async inject(stage) {
    await startLongCalls(stage, [
      ...times(6, { idempotent: true, ms, timeoutMs: 30_000 }),
      ...times(4, { idempotent: false, ms, timeoutMs: 30_000 }),
    ])
    stage.asleep = busiest(stage)
    stage.signal(stage.asleep, 'SIGSTOP')
  },
  heal: stage => stage.signal(stage.asleep, 'SIGCONT'),
  expect: { allowed: ['OK', 'WorkerLost'], promised: 'idempotent' },
})

export const workerRows = [
  {
    id: 'F37',
    title: 'worker killed in its handlers',
    load: { ...patient, perSecond: 80 },
    faultMs: 6000,
    async inject(stage) {
      await startLongCalls(stage, [
        ...times(4, { idempotent: true, ms: 1500, ...patient }),
        ...times(4, { idempotent: false, ms: 1500, ...patient }),
      ])
      await stage.kill(busiest(stage))
    },
    heal: stage => stage.addWorker(),
    expect: { allowed: ['OK', 'WorkerLost'], promised: 'idempotent' },
  },
  {
    id: 'F37-release',
    title: 'workers killed as they reply and release',
    load: { ...patient, perSecond: 80, idempotent: 1 },
    workers: 3,
    faultMs: 0,
    async inject(stage) {
      for (let i = 0; i < 8; i++) {
        await killAt(stage, releasing)
        await stage.addWorker()
      }
    },
    expect: { promised: 'all', deaths: 'any' },
  },
  {
    id: 'F37-adopt',
    title: 'worker killed, and its adopter as it adopts',
    load: { timeoutMs: 25_000, perSecond: 60 },
    workers: 3,
    faultMs: 7000,
    afterMs: 4000,
    async inject(stage) {
      await startLongCalls(stage, times(8, { idempotent: true, ms: 3000, timeoutMs: 25_000 }))
      await stage.kill(busiest(stage))
      await killAt(stage, adopting)
      await stage.addWorker()
    },
    expect: { allowed: ['OK', 'WorkerLost'], promised: 'idempotent', deaths: 'any' },
  },
  {
    id: 'F38',
    title: 'worker stopped for two leases, its handlers not done when it wakes',
    ...stopped(12_000),
  },
  {
    id: 'F38-wake',
    title: 'worker stopped for two leases, its handlers due when it wakes',
    ...stopped(7000),
  },
]

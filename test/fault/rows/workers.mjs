// Faults of workers.
import { waited } from './connections.mjs'

/** Long enough to outlive the death of a worker, which is noticed after 5 s. */
const patient = { timeoutMs: 15_000 }

/** How many handlers run in each worker at this moment. */
export const runningBy = stage => {
  const running = new Map(stage.workers.map(({ name }) => [name, 0]))
  for (const { e, by } of stage.events()) {
    if (!running.has(by)) continue
    if (e === 'start') running.set(by, running.get(by) + 1)
    else if (e === 'end' || e === 'abort') running.set(by, running.get(by) - 1)
  }
  return running
}

/** Makes calls that run for long, and waits until workers run them. */
export const startLongCalls = async (stage, calls) => {
  for (const [i, call] of calls.entries()) void stage.callers[i % stage.callers.length].order('call', call)
  const running = () => [...runningBy(stage).values()].reduce((sum, count) => sum + count, 0)
  await stage.until(() => running() >= calls.length, 5000)
}

export const times = (count, call) => Array.from({ length: count }, () => call)

/** The worker that runs most at this moment. */
export const busiest = stage => {
  const running = runningBy(stage)
  return stage.workers.toSorted((a, b) => running.get(b.name) - running.get(a.name))[0]
}

const block = (stage, ms) => {
  const call = { idempotent: false, ms: 0, timeoutMs: 20_000, act: { do: 'block', ms } }
  return stage.callers[0].order('call', call)
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

const releasing = /hdel\r\n\$\d+\r\npshub:\{q\}:held:([\w-]+)/i
/** The adopter's own held hash is the third key of adopt. */
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
  expect: { allowed: ['WorkerLost'], promised: 'idempotent', blocksWorkers: true },
})

export const workerRows = [
  {
    id: 'F37',
    title: 'worker killed in its handlers',
    load: { ...patient, perSecond: 80 },
    faultMs: 6000,
    async inject(stage) {
      // More of one kind than the other worker has slots: the one that is killed runs some of them.
      await startLongCalls(stage, [
        ...times(5, { idempotent: true, ms: 1500, ...patient }),
        ...times(3, { idempotent: false, ms: 1500, ...patient }),
      ])
      await stage.kill(busiest(stage))
    },
    heal: stage => stage.addWorker(),
    // All slots run long calls for longer than a tenth of what callers can wait: a list that stands that long is kept short.
    expect: { allowed: ['WorkerLost', 'Overloaded'], promised: 'idempotent' },
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
    expect: { allowed: ['WorkerLost'], promised: 'idempotent', deaths: 'any' },
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
  {
    id: 'F39',
    title: 'event loop blocked for three leases',
    load: { timeoutMs: 20_000, perSecond: 60 },
    workers: 3,
    faultMs: 13_000,
    inject: stage => void block(stage, 12_000),
    expect: { promised: 'all', blocksWorkers: true },
  },
  {
    id: 'F39-short',
    title: 'event loop blocked for less than a lease, again and again',
    load: { ...patient, perSecond: 60 },
    faultMs: 6000,
    inject: stage => stage.repeat(2000, () => block(stage, 1600)),
    expect: { promised: 'all', blocksWorkers: true },
  },
  {
    id: 'F40',
    title: 'workers told to stop, one handler longer than their patience',
    load: { ...patient, perSecond: 80 },
    workers: 3,
    graceMs: 2000,
    faultMs: 4000,
    longestMs: 30_000,
    async inject(stage) {
      await startLongCalls(stage, [
        ...times(3, { idempotent: true, ms: 5000, timeoutMs: 30_000 }),
        ...times(2, { idempotent: false, ms: 5000, timeoutMs: 30_000 }),
      ])
      const leaving = busiest(stage)
      stage.signal(leaving, 'SIGTERM')
      await stage.addWorker()
    },
    expect: {
      promised: 'idempotent',
      allowedFor: ({ timeoutMs }) => (timeoutMs === 30_000 ? ['WorkerLost'] : undefined),
    },
  },
  {
    id: 'F41',
    title: 'handlers that throw, reject with nothing, or never end',
    load: {
      // Those that never end keep a slot for three seconds each: with more of them the others find too few, and are refused.
      perSecond: 100,
      special: [
        { share: 0.02, act: { do: 'throw' } },
        { share: 0.02, act: { do: 'reject' } },
        { share: 0.005, act: { do: 'never' } },
      ],
    },
    inject: () => undefined,
    expect: {
      promised: 'all',
      isRight: ({ act, code }) =>
        code === ({ throw: 'TaskFailed', reject: 'TaskFailed', never: 'Timeout' }[act?.do] ?? 'OK'),
      linesPerSecond: 20,
    },
  },
  {
    id: 'F41-death',
    title: 'handlers that take their process along, and one that does so each time',
    load: { timeoutMs: 30_000, perSecond: 60 },
    workers: 3,
    faultMs: 18_000,
    longestMs: 30_000,
    inject(stage) {
      stage.repeat(100, () => stage.replaceGone())
      const deadly = [
        { idempotent: false, act: { do: 'exit' } },
        { idempotent: false, act: { do: 'stray' } },
        { idempotent: true, act: { do: 'crash' } },
      ]
      for (const call of deadly) void stage.callers[0].order('call', { ...call, ms: 0, timeoutMs: 30_000 })
    },
    check(stage) {
      const starts = stage.starts(({ act }) => act?.do === 'crash')
      const isRight = starts >= 1 && starts <= 3
      return isRight ? [] : [{ invariant: 'poison', what: `a call that kills its workers was started ${starts} times` }]
    },
    expect: {
      promised: 'idempotent',
      allowedFor: () => ['WorkerLost'],
      // A call that is held beside the one that kills goes from worker to worker with it, and is given up with it.
      isRight: ({ act, code, settles: [settle] }) =>
        act || /^3 workers that ran .* crashed or lost their lease/.test(settle?.message)
          ? code === 'WorkerLost'
          : undefined,
      linesPerSecond: 20,
      deaths: 'any',
    },
  },
  {
    id: 'F43',
    title: 'a worker killed that held 100 calls, and three that take over',
    load: { timeoutMs: 20_000, perSecond: 60 },
    workers: 4,
    workerOptions: { slots: 64 },
    faultMs: 7000,
    async inject(stage) {
      await startLongCalls(stage, [
        ...times(130, { idempotent: true, ms: 2500, timeoutMs: 20_000 }),
        ...times(70, { idempotent: false, ms: 2500, timeoutMs: 20_000 }),
      ])
      await stage.kill(busiest(stage))
    },
    check(stage) {
      const often = stage.starts(({ idempotent }) => idempotent, 2)
      return often === 0 ? [] : [{ invariant: 'I6', what: `${often} calls were started more than twice` }]
    },
    expect: { allowed: ['WorkerLost'], promised: 'idempotent' },
  },
  {
    id: 'F46',
    title: 'all workers killed for 5 s, then others',
    faultMs: 5000,
    inject: stage => Promise.all(stage.workers.slice().map(worker => stage.kill(worker))),
    heal: stage => Promise.all([stage.addWorker(), stage.addWorker()]),
    expect: { allowed: [...waited, 'NoWorkers', 'WorkerLost'], deaths: 'any' },
  },
]

// Workers that are replaced under load. What they gave up may have been started: nobody may say that it was certainly not run.
import { waited } from './connections.mjs'
import { startLongCalls, times } from './workers.mjs'

/** Runs for longer than the version that follows allows. */
const outdated = { idempotent: true, ms: 9000, timeoutMs: 25_000, act: { do: 'outdated' } }

export const deployRows = [
  {
    id: 'F40-deploy',
    title: 'workers told to stop at once, and killed, for a version that refuses what they had started',
    load: { perSecond: 40, timeoutMs: 15_000 },
    graceMs: 0,
    warmMs: 1000,
    faultMs: 6500,
    afterMs: 3000,
    longestMs: 25_000,
    async inject(stage) {
      await startLongCalls(stage, times(8, outdated))
      const [stopped, killed] = stage.workers.slice()
      await Promise.all([stage.addWorker({ isStrict: true }), stage.addWorker({ isStrict: true })])
      stage.signal(stopped, 'SIGTERM')
      await stage.kill(killed)
    },
    expect: {
      promised: 'idempotent',
      allowed: ['WorkerLost'],
      isRight: ({ act, code }) => (act ? code === 'WorkerLost' : undefined),
    },
  },
  {
    id: 'F40-rolling',
    title: 'a worker replaced again and again, without patience for what it runs',
    load: {
      perSecond: 30,
      idempotent: 1,
      ms: [200, 900],
      timeoutMs: 1300,
      special: [{ share: 0.05, ms: [0, 0], act: { do: 'block', ms: 250 } }],
    },
    workers: 3,
    workerOptions: { slots: 8 },
    graceMs: 0,
    faultMs: 8000,
    inject: stage =>
      stage.repeat(700, async () => {
        await stage.addWorker()
        const oldest = stage.workers.find(({ isGone }) => !isGone)
        stage.signal(oldest, 'SIGTERM')
        await oldest.exited
      }),
    expect: { allowed: [...waited, 'WorkerLost'], isRight: () => undefined, blocksWorkers: true },
  },
]

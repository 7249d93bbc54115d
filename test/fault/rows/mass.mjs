// The same fault again and again, until there are enough cases to say something about rare ones.
import { setTimeout as sleep } from 'node:timers/promises'
import { killClients, unreachable } from './connections.mjs'
import { busiest } from './workers.mjs'

const kills = 24
const sockets = 3000

export const massRows = [
  {
    id: 'M1',
    title: `${kills} workers killed under load, idempotent calls`,
    load: { idempotent: 1, timeoutMs: 25_000, perSecond: 150, ms: [20, 100] },
    workers: 3,
    workerOptions: { slots: 8 },
    faultMs: 0,
    afterMs: 7000,
    async inject(stage) {
      for (let i = 0; i < kills; i++) {
        await stage.kill(busiest(stage))
        await stage.addWorker()
        await sleep(500)
      }
    },
    // Who notices a death may be killed before it can tell.
    expect: { promised: 'idempotent', reconnectsPerSecond: 8, deaths: 'any' },
  },
  {
    id: 'M2',
    title: `${sockets} sockets of hubs and workers killed`,
    load: { timeoutMs: 8000, perSecond: 150 },
    workerOptions: { slots: 8 },
    faultMs: 0,
    async inject(stage) {
      for (let killed = 0; killed < sockets; ) {
        killed += await killClients(stage.redis, 'pshub-')
        await sleep(stage.integer(20, 120))
      }
    },
    expect: {
      allowed: unreachable,
      promised: 'replies',
      reconnectsPerSecond: 30,
      linesPerSecond: 60,
    },
  },
]

// Faults of workers.

/** Long enough to outlive the death of a worker, which is noticed after 5 s. */
const patient = { timeoutMs: 15_000 }

export const workerRows = [
  {
    id: 'F37',
    title: 'worker killed in its handlers',
    load: { ...patient, perSecond: 100 },
    faultMs: 6000,
    inject: stage => stage.kill(stage.workers[0]),
    heal: stage => stage.addWorker(),
    expect: { allowed: ['OK', 'WorkerLost'], promised: 'idempotent' },
  },
]

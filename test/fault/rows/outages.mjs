// Faults in which Redis itself is away.

/**
 * What calls may end as while Redis is away: not sent, sent and not confirmed, or confirmed and not answered. When it was
 * away for longer than a lease, nobody has one at first.
 */
const away = ['NotEnqueued', 'OutcomeUnknown', 'Timeout', 'NoWorkers']

export const outageRows = [
  {
    id: 'F13',
    title: 'redis killed, back on its append-only file',
    faultMs: 3000,
    inject: stage => stage.stopRedis('SIGKILL'),
    heal: stage => stage.startRedis(),
    expect: { allowed: [...away, 'WorkerLost'] },
  },
]

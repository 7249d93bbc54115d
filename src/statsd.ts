import { StatsD } from 'hot-shots'
import type { Events } from './telemetry.ts'

/** Names of all metrics; nobody else writes one. Each carries a tag task or queue. */
const names = {
  callTime: 'call.time',
  callOk: 'call.ok',
  callError: 'call.error',
  lateReply: 'call.late_reply',
  backlog: 'queue.backlog',
  backlogWait: 'queue.backlog_wait',
  queueWait: 'worker.queue_wait',
  exec: 'worker.exec',
  expired: 'worker.expired',
  error: 'worker.error',
  unserved: 'worker.unserved',
} as const

/** Sends metrics of one hub or worker to a StatsD daemon over UDP, buffered; a daemon that is away fails nothing. */
export const subscribeStatsd = (events: Events, address: string): (() => void) => {
  const [host, port] = address.split(':') as [string, string]
  const client = new StatsD({
    host,
    port: Number(port),
    prefix: 'pshub.',
    maxBufferSize: 1400,
    bufferFlushInterval: 500,
    errorHandler: () => undefined,
  })
  const subscriptions = [
    events.on('call:settled', ({ task, ok, code, ms }) => {
      client.timing(names.callTime, ms, { task })
      if (ok) client.increment(names.callOk, { task })
      else client.increment(names.callError, { task, code: String(code) })
    }),
    events.on('reply:late', () => client.increment(names.lateReply)),
    events.on('queue:pushed', ({ queue, length, count }) => client.gauge(names.backlog, length + count, { queue })),
    events.on('claim:taken', ({ queue, left, expired }) => {
      client.gauge(names.backlog, left, { queue })
      if (expired > 0) client.increment(names.expired, expired, { queue })
    }),
    // Without its task: what was pushed by hand may name anything.
    events.on('request:unserved', ({ queue }) => client.increment(names.unserved, { queue })),
    events.on('task:settled', ({ task, queue, ok, code, us }) => {
      client.timing(names.backlogWait, us.backlog / 1000, { task, queue })
      client.timing(names.queueWait, us.queue / 1000, { task, queue })
      client.timing(names.exec, us.exec / 1000, { task, queue })
      if (!ok) client.increment(names.error, { task, queue, code: String(code) })
    }),
  ]
  return () => {
    for (const end of subscriptions) end()
    client.close(() => undefined)
  }
}

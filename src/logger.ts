import { createRequire } from 'node:module'
import { isatty } from 'node:tty'
import { type Logger, pino } from 'pino'
import type { Problem } from './errors.ts'
import { explained, isAboutRights } from './refusals.ts'
import type { EventMap, Events } from './telemetry.ts'

export type { Logger }

export interface LogOptions {
  logLevel: string
  logFormat: 'auto' | 'json' | 'pretty'
}

/** Lines on stderr, so that stdout stays the command's own. Payloads and secrets are never among the fields. */
export const makeLogger = ({ logLevel: level, logFormat }: LogOptions): Logger => {
  const isPretty = logFormat === 'pretty' || (logFormat === 'auto' && isatty(2))
  // Written before the call returns: what a process says last, before it ends, must not be what is missing.
  const stderr = pino.destination({ dest: 2, sync: true })
  const options = { level, base: { pid: process.pid }, redact: ['args', 'result', 'password'] }
  return pino(options, isPretty ? prettyTo(stderr) : stderr)
}

/** For people. Loaded when it is wanted, because it takes as long as all the rest of this package. */
const prettyTo = (stderr: { write(text: string): unknown }): { write(line: string): void } => {
  const { prettyFactory } = createRequire(import.meta.url)('pino-pretty') as typeof import('pino-pretty')
  const isColoured = process.env.NO_COLOR === undefined && (isatty(2) || process.env.FORCE_COLOR !== undefined)
  const pretty = prettyFactory({ colorize: isColoured, ignore: 'pid', translateTime: 'SYS:HH:MM:ss.l' })
  return { write: line => void stderr.write(pretty(line) ?? '') }
}

/** Turns events into log lines; the one place that words them. Returns the end of the subscription. */
export const subscribeLog = (events: Events, log: Logger): (() => void) => {
  const verbose = log.isLevelEnabled('debug')
  const subscriptions = [
    events.on('task:settled', event => {
      // The common case must not cost an object.
      if (event.ok && !verbose) return
      const { message, thrown, ...fields } = event
      if (event.ok) log.debug(fields, 'task done')
      else log.warn({ ...fields, reason: reasonOf(event), ...stackOf(fields.code, thrown) }, 'task failed')
    }),
    events.on('reply:late', fields => log.info(fields, 'a reply came after its call was over')),
    events.on('schema:unused', fields =>
      log.warn(fields, 'a schema of the registry is not used here; the worker judges'),
    ),
    events.on('task:elsewhere', fields =>
      log.warn(
        fields,
        `Task ${fields.task} is served in queue ${fields.first} too, which had it first: callers go there while it has live workers. They reach this worker only by naming queue ${fields.queue}.`,
      ),
    ),
    events.on('registry:unreadable', fields =>
      log.warn(fields, 'something in Redis cannot be read and counts as absent'),
    ),
    events.on('task:conflict', fields => log.warn(fields, 'live workers declare this task with different schemas')),
    events.on('request:malformed', fields =>
      log.warn(fields, 'something in the list is not a request and was dropped'),
    ),
    events.on('request:handedback', fields =>
      log.warn(fields, 'handed back: only another worker of this queue has this task'),
    ),
    events.on('request:unserved', fields =>
      log.error(fields, 'a request without a deadline for a task that nobody here provides; it was ended'),
    ),
    events.on('job:dead', fields => log.error(fields, 'a job was given up; it is kept with the dead ones')),
    events.on('worker:started', fields => log.info(fields, 'worker started')),
    events.on('worker:stopped', fields => log.info(fields, 'worker stopped')),
    events.on('queue:paused', fields =>
      log.info(fields, 'the queue is paused; what is held is finished, nothing is taken'),
    ),
    events.on('queue:resumed', fields => log.info(fields, 'the queue is served again')),
    events.on('lease:lost', fields => log.warn(fields, 'the lease ended; going on under a new id')),
    events.on('loop:blocked', fields => log.warn(fields, 'the event loop was blocked; nothing else ran meanwhile')),
    events.on('worker:lost', fields => log.warn(fields, 'a worker was lost; what it held was taken over')),
    events.on('redis:up', fields => log.info(fields, 'connected to Redis')),
    events.on('redis:down', fields => {
      if (!isAboutRights(fields.reason)) log.warn(fields, 'lost Redis; trying again')
      else log.error({ ...fields, reason: explained(fields.reason) }, 'Redis does not let us in; trying again')
    }),
    events.on('problem', fields => log.error(fields, 'problem')),
  ]
  if (verbose) {
    subscriptions.push(
      events.on('call:settled', fields => log.debug(fields, 'call settled')),
      events.on('call:retried', fields => log.debug(fields, 'a failed try is followed by another one')),
      events.on('request:expired', fields => log.debug(fields, 'its time was up, so it was not started')),
      events.on('request:redelivered', fields => log.debug(fields, 'its worker was lost; another one will run it')),
    )
  }
  return () => {
    for (const end of subscriptions) end()
  }
}

/** What the thread beside a blocked loop writes, in two lines of this log; undefined where the level leaves them out. */
export interface BlockedLines {
  stuck: string | undefined
  givenUp: string | undefined
}

export const blockedLines = (log: Logger): BlockedLines => ({
  stuck: log.isLevelEnabled('warn') ? rawLine(40, 'the event loop is blocked now') : undefined,
  givenUp: log.isLevelEnabled('error')
    ? rawLine(50, 'the event loop is blocked for too long; the lease ends, others take over')
    : undefined,
})

/** A line of JSON up to the fields of its writer. */
const rawLine = (level: number, msg: string): string => JSON.stringify({ level, pid: process.pid, msg }).slice(0, -1)

/**
 * Why a request failed, in words that are not the payload's: what a handler says with its error is its author's choice,
 * a thrown object is not, nor are keys of arguments or results.
 */
const reasonOf = ({ code, message, thrown }: EventMap['task:settled']): string | undefined => {
  if (code === 'InvalidArgs' || code === 'InvalidResult') {
    const problems = (thrown as { data?: { problems?: Problem[] } }).data?.problems
    if (!problems) return message
    return [
      ...new Set(problems.slice(0, 5).map(problem => problem.message.replace(/^not JSON: .*/s, 'not JSON'))),
    ].join('; ')
  }
  if (thrown instanceof Error || typeof thrown === 'string') return message
  return 'a value that is not an Error was thrown'
}

/** Where a handler failed is for its authors, who read this log; callers never see it. */
const stackOf = (code: string | undefined, thrown: unknown): { stack?: string } =>
  code === 'TaskFailed' && thrown instanceof Error && thrown.stack ? { stack: thrown.stack } : {}

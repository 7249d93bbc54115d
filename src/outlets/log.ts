import { isatty } from 'node:tty'
import { type Logger, pino } from 'pino'
import type { EventMap, EventName, Events } from '../figures/events.ts'
import { explained, isAboutRights } from '../redis/refusals.ts'
import { kindOf, type Problem } from '../wire/errors.ts'
import { makePaint } from './colour.ts'
import { prettyLine } from './pretty.ts'

export type { Logger }

/** The settings of the log. */
export interface LogOptions {
  logLevel: string
  logFormat: 'auto' | 'json' | 'pretty'
}

/** Writes lines to stderr, so that stdout belongs to the command. Fields never contain payloads or secrets. */
export const makeLogger = ({ logLevel: level, logFormat }: LogOptions): Logger => {
  const isPretty = logFormat === 'pretty' || (logFormat === 'auto' && isatty(2))
  // Written before the call returns: what a process says last, before it ends, must not be what is missing.
  const stderr = pino.destination({ dest: 2, sync: true })
  const options = { level, base: { pid: process.pid }, redact: ['args', 'result', 'password'] }
  return pino(options, isPretty ? prettyTo(stderr) : stderr)
}

const prettyTo = (stderr: { write(text: string): unknown }): { write(line: string): void } => {
  const paint = makePaint(isatty(2), process.env)
  return { write: line => void stderr.write(prettyLine(line, paint)) }
}

/** Level and words of the lines that say no more than their event. */
const lines = {
  'call:settled': ['debug', 'call settled'],
  'call:retried': ['debug', 'retrying a failed call'],
  'request:expired': ['debug', 'request expired before it started'],
  'request:redelivered': ['debug', 'worker lost; another worker will run the request'],
  'jobs:enqueued': ['debug', 'jobs enqueued'],
  'job:retried': ['info', 'job failed; it will be retried'],
  'job:putoff': ['debug', 'job delayed: it cannot run now'],
  'schedule:tick': ['debug', 'schedule is due'],
  'reply:late': ['info', 'late reply: its call had already ended'],
  'worker:started': ['info', 'worker started'],
  'worker:stopped': ['info', 'worker stopped'],
  'queue:paused': ['info', 'queue paused; running requests finish, no new ones are claimed'],
  'queue:resumed': ['info', 'queue resumed'],
  'redis:up': ['info', 'connected to Redis'],
  'schema:unused': ['warn', 'a schema from the registry cannot be checked here; only the worker checks it'],
  'registry:unreadable': ['warn', 'ignoring an unreadable record in Redis'],
  'task:conflict': ['warn', 'live workers declare this task with different schemas'],
  'request:malformed': ['warn', 'dropped a list entry that is not a request'],
  'request:handedback': ['warn', 'returned to the queue: only another worker has this task'],
  'lease:lost': ['warn', 'lease expired; continuing under a new worker id'],
  'loop:blocked': ['warn', 'event loop was blocked; nothing else could run'],
  'worker:lost': ['warn', 'worker lost; took over its requests'],
  'request:unserved': ['error', 'ended a request without a deadline: no worker of this queue provides its task'],
  'job:dead': ['error', 'job is dead; to list dead jobs: pshub dead'],
  problem: ['error', 'problem'],
} as const satisfies Partial<Record<EventName, readonly [level: 'debug' | 'info' | 'warn' | 'error', message: string]>>

/** Turns events into log lines; the one place that words them. Returns the end of the subscription. */
export const subscribeLog = (events: Events, log: Logger): (() => void) => {
  const verbose = log.isLevelEnabled('debug')
  const subscriptions = [
    events.on('task:settled', event => {
      // The common case must not cost an object.
      if (event.ok && !verbose) return
      const { message, thrown, ...fields } = event
      if (event.ok) return log.debug(fields, 'task done')
      const told = { ...fields, reason: reasonOf(event) }
      if (event.outcome === 'failed') return log.warn({ ...told, ...stackOf(event) }, 'task failed')
      // By its handler, which is no fault; or for arguments that do not fit.
      log[kindOf(event.code!) === 'TaskFailed' ? 'info' : 'warn'](told, 'task rejected')
    }),
    events.on('task:elsewhere', fields =>
      log.warn(
        fields,
        `Task ${fields.task} is also served in queue ${fields.first}, which had it first: calls go there while it has live workers. To reach this worker, callers must pass queue ${fields.queue}.`,
      ),
    ),
    events.on('redis:down', event => {
      const fields = { ...event, reason: explained(event.reason) }
      if (isAboutRights(event.reason)) log.error(fields, 'Redis denies access; reconnecting')
      else log.warn(fields, 'lost the connection to Redis; reconnecting')
    }),
  ]
  // What only a verbose log says must not cost the others an event.
  for (const [name, [level, message]] of Object.entries(lines))
    if (level !== 'debug' || verbose)
      subscriptions.push(events.on(name as keyof typeof lines, fields => log[level](fields, message)))
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
  stuck: log.isLevelEnabled('warn') ? rawLine(40, 'event loop is blocked') : undefined,
  givenUp: log.isLevelEnabled('error')
    ? rawLine(50, 'event loop is blocked for too long; the lease ends, other workers take over')
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
const stackOf = ({ code, thrown }: EventMap['task:settled']): { stack?: string } =>
  kindOf(code!) === 'TaskFailed' && thrown instanceof Error && thrown.stack ? { stack: thrown.stack } : {}

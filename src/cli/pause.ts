import { checkQueueName, pauseQueue, resumeQueue } from '../queue/pause.ts'
import { messageOf } from '../wire/errors.ts'
import { makeKeys } from '../wire/keys.ts'
import { settingsOf, UsageError } from './arguments.ts'
import type { Command, Invocation } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { jsonOption } from './options.ts'
import { withRedis } from './redis-session.ts'

/** Redis milliseconds as people and programs of any language read them. */
export const formatTime = (ms: number): string => {
  const date = new Date(ms)
  return Number.isNaN(date.getTime()) ? '?' : date.toISOString()
}

/** @throws UsageError */
const queueOf = ({ positionals: [queue] }: Invocation, command: string): string => {
  try {
    checkQueueName(queue)
  } catch (error) {
    throw new UsageError(messageOf(error), command)
  }
  return queue!
}

const pause = async (invocation: Invocation): Promise<number> => {
  const { flags, output } = invocation
  const settings = settingsOf('hub', pauseCommand, invocation, 'silent')
  const queue = queueOf(invocation, 'pause')
  const keys = makeKeys(settings.namespace)
  const done = await withRedis(settings, connection => connection.send(client => pauseQueue(client, keys, queue)))
  if (flags.json !== undefined) output.json({ queue, ...done })
  else if (done.wasPaused) output.out.line(`${queue} was already paused, at ${formatTime(done.pausedMs)}.`)
  else output.out.line(`${queue} is paused. Running requests finish; the rest waits until: pshub resume ${queue}`)
  return exitCodes.ok
}

const resume = async (invocation: Invocation): Promise<number> => {
  const { flags, output } = invocation
  const settings = settingsOf('hub', resumeCommand, invocation, 'silent')
  const queue = queueOf(invocation, 'resume')
  const keys = makeKeys(settings.namespace)
  const wasPaused = await withRedis(settings, connection => connection.send(client => resumeQueue(client, keys, queue)))
  if (flags.json !== undefined) output.json({ queue, wasPaused })
  else output.out.line(wasPaused ? `${queue} is resumed.` : `${queue} was not paused.`)
  return exitCodes.ok
}

const failures = {
  1: 'Redis rejected: this user lacks the right, or another program uses the key',
  2: 'the command line or a setting is wrong',
  3: 'Redis could not be reached',
}
const missing = (name: string) => `the name of a queue, as in: pshub ${name} mail (pshub queues lists them)`

export const pauseCommand: Command = {
  name: 'pause',
  usage: 'pause <queue>',
  summary: 'pause a queue: its workers claim no more requests',
  about: [
    'Pauses a queue: within a second its workers, in any language, stop claiming requests from it. They finish their ' +
      'running requests and stay connected. Calls and jobs wait in Redis; a call whose deadline passes fails with Timeout.',
    'The queue stays paused until pshub resume, even if workers or a Redis with an append-only file restart. You can ' +
      'also pause a queue without workers. Pausing it twice changes nothing.',
  ],
  arity: { min: 1, max: 1, missing: missing('pause') },
  options: [jsonOption],
  examples: [
    { line: 'pshub pause mail', about: 'while the mail server is down' },
    { line: 'pshub queues', about: 'its backlog, and since when it is paused' },
  ],
  exitCodes: { 0: 'paused, now or before', ...failures },
  run: pause,
}

export const resumeCommand: Command = {
  name: 'resume',
  usage: 'resume <queue>',
  summary: 'resume a paused queue',
  about: [
    'Resumes a queue: within a second its workers continue with the oldest request. A queue that is not paused ' +
      'does not change.',
  ],
  arity: { min: 1, max: 1, missing: missing('resume') },
  options: [jsonOption],
  examples: [{ line: 'pshub resume mail', about: 'when it is up again' }],
  exitCodes: { 0: 'not paused, now or before', ...failures },
  run: resume,
}

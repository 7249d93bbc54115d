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
  else if (done.wasPaused) output.out.line(`${queue} was paused already, at ${formatTime(done.pausedMs)}.`)
  else
    output.out.line(
      `${queue} is paused. What its workers hold is finished; the rest waits until: pshub resume ${queue}`,
    )
  return exitCodes.ok
}

const resume = async (invocation: Invocation): Promise<number> => {
  const { flags, output } = invocation
  const settings = settingsOf('hub', resumeCommand, invocation, 'silent')
  const queue = queueOf(invocation, 'resume')
  const keys = makeKeys(settings.namespace)
  const wasPaused = await withRedis(settings, connection => connection.send(client => resumeQueue(client, keys, queue)))
  if (flags.json !== undefined) output.json({ queue, wasPaused })
  else output.out.line(wasPaused ? `${queue} is served again.` : `${queue} was not paused.`)
  return exitCodes.ok
}

const failures = {
  1: 'Redis refused: this user lacks the right, or somebody else has put something under the name of the key',
  2: 'the command line or a setting is wrong',
  3: 'Redis could not be reached',
}
const missing = (name: string) => `the name of a queue, as in: pshub ${name} mail (pshub queues lists them)`

export const pauseCommand: Command = {
  name: 'pause',
  usage: 'pause <queue>',
  summary: 'let a queue wait: its workers take nothing more',
  about: [
    'Pauses a queue: within a second its workers take nothing more from it, in whichever language they are. They finish what ' +
      'they hold and stay ready. Calls and jobs wait in Redis; a call whose time is up meanwhile ends as Timeout.',
    'It stays paused until pshub resume, whatever is restarted meanwhile, Redis with its append-only file included. A queue ' +
      'that nobody serves can be paused too: workers that come later find it so. A second time changes nothing.',
  ],
  arity: { min: 1, max: 1, missing: missing('pause') },
  options: [jsonOption],
  examples: [
    { line: 'pshub pause mail', about: 'while the mail server is down' },
    { line: 'pshub queues', about: 'what waits, and since when it is paused' },
  ],
  exitCodes: { 0: 'it is paused, now or already', ...failures },
  run: pause,
}

export const resumeCommand: Command = {
  name: 'resume',
  usage: 'resume <queue>',
  summary: 'end the pause of a queue',
  about: [
    'Ends the pause of a queue: within a second its workers go on, with what has waited longest. A queue that is not paused ' +
      'stays as it is.',
  ],
  arity: { min: 1, max: 1, missing: missing('resume') },
  options: [jsonOption],
  examples: [{ line: 'pshub resume mail', about: 'go on' }],
  exitCodes: { 0: 'it is not paused any more, or was not', ...failures },
  run: resume,
}

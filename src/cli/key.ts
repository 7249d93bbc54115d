import type { Hub } from '../hub/hub.ts'
import type { JobKey } from '../jobs/job-key.ts'
import { actionOf } from './action.ts'
import { settingsOf, UsageError } from './arguments.ts'
import type { Command, Invocation } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { queueOf } from './flag-values.ts'
import { withHub } from './hub-session.ts'
import { jobsLimitOf } from './jobs.ts'
import { writeKey } from './key-details.ts'
import { limitOption } from './limit.ts'
import { jsonOption } from './options.ts'
import { printable } from './printable.ts'

const acts = ['show', 'run', 'skip', 'delete', 'retry'] as const
type Act = (typeof acts)[number]

const run = async (invocation: Invocation): Promise<number> => {
  const { positionals, flags } = invocation
  const settings = settingsOf('hub', keyCommand, invocation, 'silent')
  const [task, key, given = 'show'] = positionals
  const act = actionOf('key', acts, given)
  const queue = queueOf(flags, 'key')
  const limit = jobsLimitOf(flags.limit, 'key')
  if (flags.yes !== undefined && act !== 'delete') throw wrong('--yes belongs to: pshub key <task> <key> delete')
  for (const flag of ['id', 'score'])
    if (flags[flag] !== undefined && act !== 'skip') throw wrong(`--${flag} belongs to: pshub key <task> <key> skip`)
  return withHub(settings, invocation, {
    isLook: true,
    work: async hub => {
      const jobKey = await hub.key(task!, key!, { queue })
      return act === 'show' ? show(hub, jobKey, limit, invocation) : change[act](jobKey, hub, invocation)
    },
  })
}

const wrong = (message: string): UsageError => new UsageError(message, 'key')

const show = async (hub: Hub, key: JobKey, limit: number, { flags, output }: Invocation): Promise<number> => {
  const [{ atMs }, status, dead] = await Promise.all([hub.jobs({ queue: key.queue }), key.status(), key.dead()])
  if (flags.json !== undefined) output.json({ ...status, dead })
  else {
    writeKey({ status, dead, nowMs: atMs, limit }, output.out)
    if (key.isKeyless) output.err.line(haveNoKeys(key))
  }
  return exitCodes.ok
}

/** What is done says what it did, in one sentence; where there was nothing to do it to that is a failure, as of pshub schedules. */
const told = (
  { queue, task, key, isKeyless }: JobKey,
  { flags, output: { out, err, json } }: Invocation,
  done: object,
  isDone: boolean,
  sentence: string,
): number => {
  if (flags.json !== undefined) json({ queue, task, key, ...done })
  else (isDone ? out : err).line(isDone || !isKeyless ? sentence : `${sentence} ${haveNoKeys({ task })}`)
  return isDone ? exitCodes.ok : exitCodes.failed
}

type Change = (key: JobKey, hub: Hub, invocation: Invocation) => Promise<number>

/** Payloads are deleted at once; the jobs of a line are cancelled step by step, and one that a batch waits for is left. */
const deleteWaiting: Change = async (key, hub, invocation) => {
  const { waiting, jobs } = await key.status()
  const name = nameOf(key)
  if (waiting > 1 && invocation.flags.yes === undefined)
    throw wrong(`${waiting} wait in ${name}. To see them: pshub key <task> <key>. To delete them all, pass --yes.`)
  let deleted = await key.delete()
  let left = 0
  if (jobs.length > 0) {
    const { queue, task } = key
    let from: string | undefined
    do {
      const query = { state: 'waiting' as const, queue, task, key: key.key, from }
      const { changed, skipped, next } = await hub.bulkStep('cancel', query)
      deleted += changed
      left += skipped
      from = next
    } while (from !== undefined)
    // A line that is empty now would count as one that waits until its time has come.
    await key.delete()
  }
  const isDone = deleted > 0
  const all = deleted === 1 ? `Deleted 1 of ${name}` : `Deleted ${deleted} of ${name}`
  const rest = left > 0 ? `; ${left} cannot be deleted, because a batch waits for them` : ''
  const sentence = isDone || left > 0 ? `${all}${rest}.` : nothingWaits(name)
  return told(key, invocation, { deleted, left }, isDone, sentence)
}

const change: Record<Exclude<Act, 'show'>, Change> = {
  run: async (key, _hub, invocation) => {
    const waiting = await key.runNow()
    const name = nameOf(key)
    const what = waiting === 1 ? 'it runs' : `its ${waiting} waiting jobs run`
    const sentence = waiting > 0 ? `${name} is due now: ${what} as soon as a slot is idle.` : nothingWaits(name)
    return told(key, invocation, { waiting }, waiting > 0, sentence)
  },
  skip: async (key, _hub, invocation) => {
    const { id, score } = invocation.flags
    const isNamed = id !== undefined || score !== undefined
    const skipped = await key.skip({ id, score: score === undefined ? undefined : Number(score) })
    const name = nameOf(key)
    const none = isNamed ? `Another job is now the first of ${name}, or none waits.` : nothingWaits(name)
    const sentence = skipped ? `The first job of ${name} is dead now; the next one is due.` : none
    return told(key, invocation, { skipped }, skipped, sentence)
  },
  delete: deleteWaiting,
  retry: async (key, _hub, invocation) => {
    const retried = await key.retryDead()
    const name = nameOf(key)
    const what = `dead ${retried === 1 ? 'job' : 'jobs'} of ${name} ${retried === 1 ? 'waits' : 'wait'} again`
    const sentence = retried > 0 ? `${retried} ${what}.` : `${name} has no dead jobs.`
    return told(key, invocation, { retried }, retried > 0, sentence)
  },
}

const nameOf = ({ task, key }: JobKey): string => `key ${printable(JSON.stringify(key))} of ${printable(task)}`

const haveNoKeys = ({ task }: Pick<JobKey, 'task'>): string =>
  `Jobs of ${printable(task)} have no keys: only tasks declared with keyed: 'ordered' or 'merged' have them. To check: pshub tasks <task>`

const nothingWaits = (name: string): string => `Nothing waits in ${name}.`

export const keyCommand: Command = {
  name: 'key',
  usage: 'key <task> <key> [show | run | skip | delete | retry]',
  summary: 'show a key of jobs, run it now, skip its first job or delete its jobs',
  about: [
    'Jobs of a keyed task with the same key run one at a time, or are merged. show prints the state of a key ' +
      '(running, due, later or empty) and since when, the worker and fence of its run, its waiting jobs or payloads ' +
      'with their scores, its failures, and its dead jobs.',
    'run makes the key due at once: a worker claims it as soon as a slot is idle. skip moves the first job, or the ' +
      'payload with the lowest score, to the dead jobs, so that the next one is due; it is rejected while the key ' +
      'runs. retry puts all dead jobs of the key back.',
    'delete permanently removes the waiting payloads, or cancels the waiting jobs, of the key. If there is more than ' +
      'one, pass --yes. A running job keeps running.',
  ],
  arity: { min: 2, max: 3, missing: 'a task and a key, as in: pshub key sync_order:1.0 order-17' },
  options: [
    { flag: 'queue', value: 'name', about: 'queue of the job', fallback: 'the queue of the task' },
    { flag: 'id', value: 'id', about: 'with skip: only if the first job has this id' },
    { flag: 'score', value: 'n', about: 'with skip: only if the first payload has this score' },
    { flag: 'yes', about: 'delete more than one' },
    limitOption,
    jsonOption,
  ],
  examples: [
    { line: 'pshub key sync_order:1.0 order-17', about: 'what it waits for, or what blocks it' },
    { line: 'pshub key sync_order:1.0 order-17 skip', about: 'continue without the job or payload that keeps failing' },
    { line: 'pshub key sync_order:1.0 order-17 delete --yes', about: 'delete all of it' },
    { line: "pshub key sync_order:1.0 order-17 --json | jq '.payloads'", about: 'for programs' },
  ],
  exitCodes: {
    0: 'shown or done',
    1: 'there was nothing to change, or Redis refused',
    2: 'the command line or a setting is wrong, or --yes is missing',
    3: 'rejected: NoSuchTask, InvalidArgs (such as skip while it runs); or Redis could not be reached',
  },
  run,
}

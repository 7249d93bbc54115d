import { Catalogue } from '../catalogue/catalogue.ts'
import { type StepStatus, stepId, stepStates } from '../jobs/job.ts'
import type { JobRecord } from '../jobs/job-record.ts'
import { findJobRecord } from '../jobs/lists/listing.ts'
import { nowMsOf } from '../redis/client.ts'
import type { Redis } from '../redis/connection.ts'
import type { Settings } from '../settings/read.ts'
import { HubError } from '../wire/errors.ts'
import { parseExact } from '../wire/json/exact-json.ts'
import { isId, type Keys, makeKeys } from '../wire/keys.ts'
import { settingsOf, UsageError } from './arguments.ts'
import type { Command, Invocation } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { queueOf, timeoutOf } from './flag-values.ts'
import { withHub } from './hub-session.ts'
import { waitOptions, writeEnd } from './job-end.ts'
import { ago, until } from './jobs.ts'
import { jsonOption } from './options.ts'
import type { Sink } from './output.ts'
import { formatTime } from './pause.ts'
import { printable, printableJson } from './printable.ts'
import { toldLine } from './progress.ts'
import { withRedis } from './redis-session.ts'
import { type Column, writeTable } from './table.ts'

const run = async (invocation: Invocation): Promise<number> => {
  const { positionals, flags } = invocation
  const settings = settingsOf('hub', jobCommand, invocation, 'silent')
  const id = positionals[0]!
  if (!isId(id)) throw new UsageError(`'${String(id).slice(0, 80)}' is not the id of a job.`, 'job')
  const queue = queueOf(flags, 'job')
  const isWaiting = flags.wait !== undefined
  const acts = ['cancel', 'run', 'wait'].filter(name => flags[name] !== undefined)
  if (acts.length > 1) throw new UsageError(`Give --${acts[0]} or --${acts[1]}, not both.`, 'job')
  if (timeoutOf(flags, 'job') !== undefined && !isWaiting) throw new UsageError('--timeout needs --wait.', 'job')
  if (flags.cancel !== undefined) return cancel(settings, invocation, id, queue)
  if (flags.run !== undefined) return runNow(settings, invocation, id, queue)
  if (!isWaiting) return show(settings, invocation, id, queue)
  return withHub(settings, invocation, {
    isLook: true,
    work: async (hub, interrupt) => writeEnd(await hub.job(id, { queue: queue! }), invocation, interrupt),
  })
}

const cancel = (
  settings: Readonly<Settings>,
  invocation: Invocation,
  id: string,
  queue: string | undefined,
): Promise<number> =>
  withHub(settings, invocation, {
    isLook: true,
    work: async hub => {
      const { flags, output } = invocation
      const job = await hub.job(id, { queue: queue! })
      const isCancelled = await job.cancel()
      const { state } = await job.status()
      const isTold = state === 'running' || state === 'cancelled'
      if (flags.json !== undefined) output.json({ id, queue: job.queue, cancelled: isCancelled, state })
      else if (isCancelled) output.out.line(`${id} is cancelled; it will not run.`)
      else if (isTold) output.out.line(`${id} is running; its abort signal fires, and it will not be retried.`)
      else output.err.line(`${id} has already ended: it is ${state}.`)
      return isCancelled || isTold ? exitCodes.ok : exitCodes.failed
    },
  })

const runNow = (
  settings: Readonly<Settings>,
  invocation: Invocation,
  id: string,
  queue: string | undefined,
): Promise<number> =>
  withHub(settings, invocation, {
    isLook: true,
    work: async hub => {
      const { flags, output } = invocation
      const isRun = await hub.runJob(id, { queue })
      if (flags.json !== undefined) output.json({ id, run: isRun })
      else if (isRun) output.out.line(`${id} is due now: the next idle slot runs it.`)
      else {
        const { state, key } = await hub.jobDetails(id, { queue })
        const others = key === undefined ? '' : ', or other jobs of its key are before it'
        output.err.line(`${id} is not scheduled or retrying${others}: it is ${state}.`)
      }
      return isRun ? exitCodes.ok : exitCodes.failed
    },
  })

interface Found {
  record: JobRecord
  steps: StepStatus[]
  nowMs: number
}

const show = async (
  settings: Readonly<Settings>,
  { flags, output }: Invocation,
  id: string,
  queue: string | undefined,
): Promise<number> => {
  const keys = makeKeys(settings.namespace)
  const found = await withRedis(settings, connection => connection.send(client => find(client, keys, id, queue)))
  if (!found) {
    const where = queue === undefined ? '' : ` in queue ${queue}`
    const why = 'it was not tracked, or the record has expired'
    throw new HubError('NoSuchJob', `There is no record of job ${id}${where}: ${why}.`, { id })
  }
  const { record, steps } = found
  const chain = record.chain && { id: record.chain.id, steps }
  if (flags.json !== undefined) output.json({ ...record.status, result: resultOf(record), chain })
  else writeJob(found, output.out)
  return exitCodes.ok
}

const find = async (client: Redis, keys: Keys, id: string, queue: string | undefined): Promise<Found | undefined> => {
  const nowMs = await nowMsOf(client, keys.workers)
  const queues = queue === undefined ? await new Catalogue(keys).queues(client) : [queue]
  const record = await findJobRecord(client, keys, id, queues)
  if (!record) return undefined
  const { id: chainId = '', steps = [] } = record.chain ?? {}
  const places = steps.map(([queue, task], at) => ({ id: stepId(chainId, at), queue, task }))
  const found = places.map(async step => (await findJobRecord(client, keys, step.id, [step.queue]))?.status)
  return { record, steps: stepStates(places, await Promise.all(found)) ?? [], nowMs }
}

/** As its worker wrote it: JSON, unless somebody else wrote it. */
const resultOf = ({ result }: JobRecord): unknown => {
  try {
    return result === undefined || result === '' ? undefined : parseExact(result)
  } catch {
    return undefined
  }
}

const stepColumns: Column<StepStatus>[] = [
  { title: 'STATE', value: ({ state }) => state, style: ({ state }) => (state === 'dead' ? 'red' : undefined) },
  { title: 'TASK', value: ({ task }) => task },
  { title: 'QUEUE', value: ({ queue }) => queue },
  { title: 'ID', value: ({ id }) => id },
]

const writeJob = ({ record, steps, nowMs }: Found, sink: Sink): void => {
  const { id, queue, task, state, tries, error, worker, progress, ...times } = record.status
  const { enqueuedMs, dueMs, startedMs, endedMs } = times
  const moment = (ms: number | undefined) => ms !== undefined && `${formatTime(ms)} (${ago(nowMs, ms)})`
  const isToCome = state === 'scheduled' || state === 'retrying'
  const fields: [string, string | false][] = [
    ['task', task],
    ['queue', queue],
    ['state', state],
    ['failed', tries > 0 && `${tries} ${tries === 1 ? 'time' : 'times'}`],
    ['last error', error !== undefined && `${error.code}: ${error.message}`],
    ['enqueued', moment(enqueuedMs)],
    ['due', isToCome && dueMs !== undefined && `${formatTime(dueMs)} (${until(nowMs, dueMs)})`],
    ['started', moment(startedMs)],
    ['ended', moment(endedMs)],
    ['progress', progress !== undefined && toldLine(progress)],
    ['worker', worker !== undefined && worker],
  ]
  sink.line(sink.paint('bold', id))
  for (const [name, value] of fields) if (value !== false) sink.line(`  ${name.padEnd(10)}  ${printable(value)}`)
  if (state === 'done') {
    sink.line()
    sink.line('result:')
    for (const line of printableJson(resultOf(record), 2).split('\n')) sink.line(`  ${line}`)
  }
  if (!record.chain) return
  sink.line()
  sink.line(`chain ${printable(record.chain.id)}:`)
  writeTable({ ...sink, line: (text = '') => sink.line(`  ${text}`) }, stepColumns, steps)
}

export const jobCommand: Command = {
  name: 'job',
  usage: 'job <id>',
  summary: 'show a job, wait for it, run it at once or cancel it',
  about: [
    'Shows a tracked job: its state (waiting, scheduled, running, retrying; at its end done, dead, expired or ' +
      'cancelled), when it was enqueued, started and ended, its failures, progress, worker and result, and its chain. ' +
      'A step that has not started yet is pending.',
    'Jobs enqueued with --tracked, --keep or --unique and the steps of chains are tracked. By default a record is ' +
      'kept for an hour after its job has ended.',
    '--wait waits until the job ends and prints the result, as pshub call does. --cancel ends a waiting job ' +
      'before it runs; if the job is running, its abort signal fires and it is not retried. --run starts a scheduled or ' +
      'retrying job at once and keeps its count of tries; for an untracked job also pass --queue.',
  ],
  arity: { min: 1, max: 1, missing: 'the id of a job, which pshub enqueue prints' },
  takesIds: true,
  options: [
    { flag: 'queue', value: 'name', about: 'queue of the job', fallback: 'all queues' },
    ...waitOptions,
    { flag: 'cancel', about: 'cancel it' },
    { flag: 'run', about: 'run it at once if it is scheduled or retrying' },
    jsonOption,
  ],
  examples: [
    { line: 'pshub job hAx4WmHgRkt9nVrqo0bLmQ', about: 'its state' },
    { line: 'pshub job hAx4WmHgRkt9nVrqo0bLmQ --wait --timeout 10m', about: 'its result, when it has ended' },
    { line: 'pshub job hAx4WmHgRkt9nVrqo0bLmQ --cancel', about: 'it is no longer needed' },
    { line: 'pshub job hAx4WmHgRkt9nVrqo0bLmQ --run', about: 'now, not in an hour' },
  ],
  exitCodes: {
    0: 'shown, succeeded, cancelled, or due now',
    1: 'with --wait: it is dead; with --cancel: it had already ended; with --run: it was not scheduled or retrying; or Redis refused',
    2: 'the command line or a setting is wrong',
    3: 'Redis could not be reached; with --wait: the job was not run',
    4: 'there is no record of it: NoSuchJob; with --wait: it has not ended, or was cancelled: Timeout, Aborted',
    130: 'Ctrl-C (143 SIGTERM); the job continues',
  },
  run,
}

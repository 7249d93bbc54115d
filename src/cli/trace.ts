import type { FailureOverview, SlowCallOverview } from '../catalogue/call-lists.ts'
import type { CallPlace } from '../catalogue/looks/call-place.ts'
import type { Hub } from '../hub/hub.ts'
import type { JobDetails } from '../jobs/job-details.ts'
import { HubError } from '../wire/errors.ts'
import { isId } from '../wire/keys.ts'
import { settingsOf, UsageError } from './arguments.ts'
import type { Command, Invocation } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { withHub } from './hub-session.ts'
import { ago, until } from './jobs.ts'
import { jsonOption } from './options.ts'
import type { Sink } from './output.ts'
import { formatTime } from './pause.ts'
import { printable } from './printable.ts'
import { triesOf, tryLine } from './tries.ts'

/** All that there is of one id. */
interface Traced {
  /** By the clock of Redis. */
  nowMs: number
  job: JobDetails | undefined
  place: CallPlace | undefined
  failures: FailureOverview[]
  slow: SlowCallOverview[]
}

const run = async (invocation: Invocation): Promise<number> => {
  const { positionals, flags, output } = invocation
  const [id] = positionals as [string]
  if (!/^[\w-]{1,64}$/.test(id)) throw new UsageError(`'${id.slice(0, 80)}' is not the id of a call or a job.`, 'trace')
  const settings = settingsOf('hub', traceCommand, invocation, 'silent')
  return withHub(settings, invocation, {
    isLook: true,
    work: async hub => {
      const traced = await trace(hub, id)
      const { job, place, failures, slow } = traced
      if (!job && !place && failures.length === 0 && slow.length === 0)
        throw new HubError(
          'NoSuchJob',
          `There is no record of ${id}: it neither waits nor runs. Successful calls are kept only if they were slow (5 minutes), successful jobs only if they are tracked, failures for an hour. Search the logs of the workers for the id.`,
          { id },
        )
      if (flags.json !== undefined) output.json({ id, job, place, failures, slow })
      else write(id, traced, output.out)
      return exitCodes.ok
    },
  })
}

const trace = async (hub: Hub, id: string): Promise<Traced> => {
  const place = await hub.callPlace(id)
  const [failures, slow] = await Promise.all([hub.failures(), hub.slowCalls()])
  const of = <T extends { id: string }>(calls: T[]) => calls.filter(each => each.id === id)
  const { atMs: nowMs, queues } = await hub.overview()
  const names = queues.map(({ queue }) => queue)
  return { nowMs, job: place ? undefined : await jobOf(hub, id, names), place, failures: of(failures), slow: of(slow) }
}

/** A job that is not tracked is looked for in each queue. */
const jobOf = async (hub: Hub, id: string, queues: string[]): Promise<JobDetails | undefined> => {
  if (!isId(id)) return undefined
  const places = [undefined, ...queues]
  for (const queue of places) {
    try {
      return await hub.jobDetails(id, queue === undefined ? {} : { queue })
    } catch (error) {
      if (!(error instanceof HubError) || error.code !== 'NoSuchJob') throw error
    }
  }
  return undefined
}

const write = (id: string, { nowMs, job, place, failures, slow }: Traced, sink: Sink): void => {
  const line = (title: string, text: string) => sink.line(`  ${title.padEnd(10)}  ${printable(text)}`)
  const moment = (title: string, ms: number | undefined) => {
    if (ms !== undefined) line(title, `${formatTime(ms)} (${ago(nowMs, ms)})`)
  }
  sink.line(sink.paint('bold', id))
  const task = place?.task ?? job?.task ?? failures[0]?.task ?? slow[0]?.task
  if (task !== undefined) line('task', task)
  const from = place?.from ?? job?.from ?? failures[0]?.from ?? slow[0]?.from
  if (from) line('from', from)
  if (place) {
    moment('pushed', place.atUs === undefined ? undefined : place.atUs / 1000)
    if (place.worker)
      line(
        'is held',
        `by worker ${place.worker.id} (${place.worker.host}/${place.worker.pid}) of queue ${place.queue}, ${place.worker.live ? 'which is live; to see what it runs: pshub inspect' : 'which is lost; another worker takes over'}`,
      )
    else line('waits', `in queue ${place.queue}, ${place.ahead} before it`)
  }
  if (job) {
    line('job', `${job.state} in queue ${job.queue}${job.isTracked ? '' : ', not tracked'}`)
    moment('enqueued', job.enqueuedMs)
    if (job.dueMs !== undefined && (job.state === 'scheduled' || job.state === 'retrying'))
      line('due', until(nowMs, job.dueMs))
    moment('started', job.startedMs)
    moment('ended', job.endedMs)
    if (job.worker !== undefined) line('worker', job.worker)
    if (job.key !== undefined) line('key', job.key)
    if (job.tries > 0) line('failures', String(job.tries))
  }
  for (const each of triesOf(job?.errors ?? [], failures, slow)) line(...tryLine(each, nowMs))
}

export const traceCommand: Command = {
  name: 'trace',
  usage: 'trace <id>',
  summary: 'show everything about one call or job',
  about: [
    'Searches everywhere for an id from an error, a log or pshub enqueue. It shows where the request waits and how ' +
      'many are before it, which worker holds it, the state of a job, and each try with its phases, ' +
      'if it is among the failures of the last hour (the last ten of a task on each worker) or the slowest calls of ' +
      'the last five minutes.',
    'A call that succeeded quickly leaves no trace. An untracked job is found while it waits, runs, or is dead.',
  ],
  arity: { min: 1, max: 1, missing: 'the id of a call or a job' },
  takesIds: true,
  options: [jsonOption],
  examples: [
    { line: 'pshub trace hAx4WmHgRkt9nVrqo0bLmQ', about: 'how did it end?' },
    { line: "pshub trace hAx4WmHgRkt9nVrqo0bLmQ --json | jq '.failures[].message'", about: 'for a program' },
  ],
  exitCodes: {
    0: 'shown',
    1: 'Redis refused, or another failure',
    2: 'the command line or a setting is wrong',
    3: 'Redis could not be reached',
    4: 'there is no record of it: NoSuchJob',
  },
  run,
}

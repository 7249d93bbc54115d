import type { Hub } from '../hub/hub.ts'
import type { EnqueueOptions } from '../jobs/enqueue-options.ts'
import type { Schedule, Schedules } from '../jobs/schedules.ts'
import { nearNames } from '../wire/text/near-names.ts'
import { actionOf } from './action.ts'
import { settingsOf, UsageError } from './arguments.ts'
import type { Command, Invocation } from './command.ts'
import { formatDuration } from './duration.ts'
import { exitCodes } from './exit-codes.ts'
import { argumentsOf, queueOf } from './flag-values.ts'
import { withHub } from './hub-session.ts'
import { jsonOption } from './options.ts'
import { type Column, writeTable } from './table.ts'

const actions = ['list', 'add', 'pause', 'resume', 'run', 'remove'] as const
type Action = (typeof actions)[number]

const run = async (invocation: Invocation): Promise<number> => {
  const { positionals, flags } = invocation
  const settings = settingsOf('hub', schedulesCommand, invocation, 'silent')
  const action = actionOf('schedules', actions, positionals[0] ?? 'list', ' Pass a queue with --queue.')
  const [, name, ...rest] = positionals
  if (action !== 'list' && name === undefined) throw wrong(`Which one? pshub schedules ${action} <name>`)
  const most = { list: 1, add: 5 }[action as 'list' | 'add'] ?? 2
  if (positionals.length > most) throw wrong(`pshub schedules ${action} takes fewer arguments.`)
  const queue = queueOf(flags, 'schedules')
  const { timezone, skip, forward } = flags
  if (action !== 'add' && [timezone, skip, forward].some(flag => flag !== undefined))
    throw wrong('--timezone, --skip and --forward belong to: pshub schedules add')
  if (action === 'add' && rest.length < 2) throw wrong('It takes: pshub schedules add <name> <cron> <task> [arguments]')
  const args = action === 'add' ? await argumentsOf(rest[2], invocation, 'schedules') : undefined
  return withHub(settings, invocation, {
    isLook: action !== 'add',
    work: async hub => {
      if (action === 'add') return add(hub, name!, rest as [string, string], args, { queue, forward }, invocation)
      const { counts } = await hub.jobs({ queue })
      const queues = counts.map(each => each.queue)
      const all = (await Promise.all(queues.map(each => hub.schedules(each).list()))).flat()
      return action === 'list' ? list(all, invocation) : change(hub, action, name!, all, invocation)
    },
  })
}

const wrong = (message: string): UsageError => new UsageError(message, 'schedules')

const columnsAt = (nowMs: number): Column<Schedule>[] => [
  { title: 'NAME', value: ({ name }) => name },
  { title: 'QUEUE', value: ({ queue }) => queue, rank: 2 },
  { title: 'TASK', value: ({ task }) => task },
  { title: 'CRON', value: ({ cron }) => cron },
  { title: 'TIME ZONE', value: ({ timezone }) => timezone ?? 'UTC', rank: 1 },
  {
    title: 'NEXT',
    value: ({ nextMs, pausedMs, problem }) =>
      pausedMs !== undefined
        ? 'paused'
        : nextMs === undefined
          ? 'never'
          : problem !== undefined
            ? 'waits'
            : `in ${formatDuration(Math.max(0, nextMs - nowMs))}`,
    style: ({ pausedMs, problem }) => (pausedMs === undefined && problem === undefined ? undefined : 'yellow'),
    right: true,
  },
]

const list = (all: Schedule[], { flags, output: { out, err, json } }: Invocation): number => {
  if (flags.json !== undefined) json(all)
  else if (all.length > 0) {
    writeTable(out, columnsAt(Date.now()), all)
    for (const { name, problem } of all)
      if (problem !== undefined) err.line(`${name} waits for a worker that knows its time zone: ${problem}.`)
  } else err.line("There is no schedule. To create one: pshub schedules add nightly '0 3 * * *' report:1.0")
  return exitCodes.ok
}

const add = async (
  hub: Hub,
  name: string,
  [cron, task]: [string, string],
  args: unknown,
  place: Pick<EnqueueOptions, 'queue' | 'forward'>,
  { flags, output: { out, json } }: Invocation,
): Promise<number> => {
  const times = { cron, timezone: flags.timezone, ...(flags.skip === undefined ? {} : { missed: 'skip' as const }) }
  const schedule = await hub.schedule(name, times, task, args, place)
  if (flags.json !== undefined) json(schedule)
  else out.line(`${name} enqueues ${schedule.task} in queue ${schedule.queue}; ${nextOf(schedule)}.`)
  return exitCodes.ok
}

const nextOf = ({ nextMs, pausedMs }: Schedule): string =>
  nextMs !== undefined
    ? `next run ${new Date(nextMs).toISOString()}`
    : pausedMs === undefined
      ? 'it has no further run'
      : 'it is paused'

const acts: Record<Exclude<Action, 'list' | 'add'>, (schedules: Schedules, name: string) => Promise<string>> = {
  pause: async (schedules, name) => ((await schedules.pause(name)) ? 'is paused' : ''),
  resume: async (schedules, name) => ((await schedules.resume(name)) ? 'is resumed' : ''),
  remove: async (schedules, name) => ((await schedules.remove(name)) ? 'is removed' : ''),
  run: async (schedules, name) => {
    const job = await schedules.run(name)
    return job ? `${job.isTwin ? 'is already waiting' : 'is enqueued'} as job ${job.id}` : ''
  },
}

const change = async (
  hub: Hub,
  action: Exclude<Action, 'list' | 'add'>,
  name: string,
  all: Schedule[],
  { flags, output: { out, err, json } }: Invocation,
): Promise<number> => {
  const found = all.filter(each => each.name === name)
  if (found.length > 1)
    throw wrong(`${found.map(({ queue }) => queue).join(' and ')} have a schedule ${name}. Choose one with --queue.`)
  const done = found[0] ? await acts[action](hub.schedules(found[0].queue), name) : ''
  if (flags.json !== undefined) json({ name, queue: found[0]?.queue, done: done !== '' })
  else if (done !== '') out.line(`${name} ${done}.`)
  else {
    const [near] = nearNames(
      name,
      all.map(each => each.name),
    )
    err.line(`There is no schedule ${name}.${near ? ` Did you mean ${near}?` : ' See: pshub schedules'}`)
  }
  return done === '' ? exitCodes.failed : exitCodes.ok
}

export const schedulesCommand: Command = {
  name: 'schedules',
  usage: 'schedules [list | add | pause | resume | run | remove] [name]',
  summary: 'show, add, pause, resume, run or remove schedules',
  about: [
    'A schedule enqueues a job at the times of a cron entry, once each, however many workers run. The workers of its ' +
      'queue do this.',
    'add <name> <cron> <task> [arguments] creates a schedule, or replaces the one with that name. run enqueues its ' +
      'job now and does not change its times. Times that pass while a schedule is paused are skipped.',
  ],
  arity: { min: 0, max: 5 },
  options: [
    { flag: 'queue', value: 'name', about: 'only this queue', fallback: 'all; for add, the queue of the task' },
    { flag: 'forward', value: 'name', about: 'with add: forwarder that delivers its jobs' },
    { flag: 'timezone', value: 'name', about: 'time zone of the cron entry, such as Europe/Berlin', fallback: 'UTC' },
    { flag: 'skip', about: 'skip missed times, instead of one run for all of them' },
    jsonOption,
  ],
  examples: [
    { line: 'pshub schedules', about: 'all schedules, with their next run' },
    {
      line: `pshub schedules add nightly '0 3 * * *' report:1.0 '{"month":"2026-11"}' --timezone Europe/Berlin`,
      about: 'every night at three, Berlin time',
    },
    { line: 'pshub schedules run nightly', about: 'once more, now' },
  ],
  exitCodes: {
    0: 'shown or done',
    1: 'there is no such schedule; or Redis refused',
    2: 'the command line or a setting is wrong',
    3: 'the schedule was rejected, or Redis could not be reached',
  },
  run,
}

import type { Hub } from '../hub/hub.ts'
import type { DeadFilter, DeadJob } from '../jobs/dead.ts'
import { isId } from '../wire/keys.ts'
import { actionOf } from './action.ts'
import { settingsOf, UsageError } from './arguments.ts'
import type { Command, Invocation } from './command.ts'
import { parseDuration } from './duration.ts'
import { exitCodes } from './exit-codes.ts'
import { parseJson, queueOf } from './flag-values.ts'
import { withHub } from './hub-session.ts'
import { ago, jobsLimitOf } from './jobs.ts'
import { limitOption } from './limit.ts'
import { jsonOption } from './options.ts'
import { type Column, writeTable } from './table.ts'

const actions = ['list', 'retry', 'delete'] as const
type Action = (typeof actions)[number]

const run = async (invocation: Invocation): Promise<number> => {
  const { positionals, flags } = invocation
  const settings = settingsOf('hub', deadCommand, invocation, 'silent')
  const action = actionOf('dead', actions, positionals[0] ?? 'list', ' Pass a queue with --queue.')
  const queue = queueOf(flags, 'dead')
  const query = { ids: idsOf(flags.id), task: flags.task, code: flags.code, key: flags.key }
  const olderMs = flags.older === undefined ? undefined : parseDuration(flags.older, '--older')
  const limit = jobsLimitOf(flags.limit, 'dead')
  const args = flags.args === undefined ? undefined : { args: parseJson(flags.args, '--args is not JSON', 'dead') }
  if (args && action !== 'retry') throw wrong('--args belongs to: pshub dead retry')
  return withHub(settings, invocation, {
    isLook: true,
    work: async hub => {
      const { atMs, counts } = await hub.jobs({ queue })
      const filter = { ...query, beforeMs: olderMs === undefined ? undefined : atMs - olderMs }
      const queues = counts.filter(({ dead }) => dead !== 0).map(each => each.queue)
      if (action === 'list') return list(hub, queues, filter, limit, atMs, invocation)
      return change(action, hub, queues, filter, args, invocation)
    },
  })
}

const wrong = (message: string): UsageError => new UsageError(message, 'dead')

const idsOf = (text: string | undefined): string[] | undefined => {
  const ids = text?.split(',').filter(id => id !== '')
  for (const id of ids ?? []) if (!isId(id)) throw wrong(`'${String(id).slice(0, 80)}' is not the id of a job.`)
  return ids
}

const columnsAt = (nowMs: number, hasKeys: boolean): Column<DeadJob>[] => [
  { title: 'DEAD SINCE', value: ({ atMs }) => ago(nowMs, atMs), right: true },
  { title: 'QUEUE', value: ({ queue }) => queue, rank: 1 },
  { title: 'TASK', value: ({ task }) => task },
  ...(hasKeys ? [{ title: 'KEY', value: ({ key }: DeadJob) => key ?? '-', rank: 2 }] : []),
  { title: 'TRIES', value: ({ tries }) => tries, right: true, rank: 2 },
  { title: 'CODE', value: ({ errors }) => errors.at(-1)?.code ?? '-', style: () => 'red' },
  { title: 'FROM', value: ({ from }) => from || '-', rank: 3 },
  { title: 'ID', value: ({ id }) => id },
  { title: 'MESSAGE', value: ({ errors }) => errors.at(-1)?.message ?? '' },
]

const list = async (
  hub: Hub,
  queues: string[],
  filter: DeadFilter,
  limit: number,
  nowMs: number,
  { flags, output: { out, err, json } }: Invocation,
): Promise<number> => {
  const found: DeadJob[] = []
  // One more than is shown says whether there are more.
  for (const queue of queues) found.push(...(await hub.dead(queue).list(filter, limit + 1)))
  const shown = found.sort((a, b) => b.atMs - a.atMs).slice(0, limit)
  if (flags.json !== undefined) json(shown)
  else if (shown.length > 0) {
    const hasKeys = shown.some(({ key }) => key !== undefined)
    writeTable(out, columnsAt(nowMs, hasKeys), shown)
    if (found.length > shown.length) err.line('There are more: use --limit or a filter.')
    err.line('To retry them: pshub dead retry. It and pshub dead delete take the same filters.')
  } else err.line('No dead job matches. To count the jobs in each state: pshub jobs')
  return exitCodes.ok
}

const change = async (
  action: Exclude<Action, 'list'>,
  hub: Hub,
  queues: string[],
  filter: DeadFilter,
  args: { args?: unknown } | undefined,
  { flags, output: { out, json } }: Invocation,
): Promise<number> => {
  const isTrial = flags['dry-run'] !== undefined
  const isJson = flags.json !== undefined
  const counts = new Map<string, number>()
  for (const queue of queues) counts.set(queue, await hub.dead(queue).count(filter))
  const matching = sumOf(counts.values())
  if (args && matching > 1) throw wrong(`--args works for one job, but ${matching} match. Pass its --id.`)
  if (isTrial) {
    if (isJson) json({ matching })
    else out.line(`${jobs(matching)} would be ${done[action]}; nothing was changed.`)
    return exitCodes.ok
  }
  if (matching > 1 && filter.ids === undefined && flags.yes === undefined)
    throw wrong(`${jobs(matching)} match. To see them: pshub dead list. To ${action} them all, pass --yes.`)
  let changed = 0
  for (const [queue, count] of counts) {
    if (count === 0) continue
    const dead = hub.dead(queue)
    changed += action === 'retry' ? await dead.retry(filter, args) : await dead.delete(filter)
  }
  if (isJson) json(action === 'retry' ? { retried: changed } : { deleted: changed })
  else out.line(`${jobs(changed)} ${changed === 1 ? 'is' : 'are'} ${done[action]}.`)
  return filter.ids !== undefined && changed < new Set(filter.ids).size ? exitCodes.failed : exitCodes.ok
}

const done = { retry: 'retried', delete: 'deleted' } as const

const sumOf = (counts: Iterable<number>): number => [...counts].reduce((sum, count) => sum + count, 0)

const jobs = (count: number): string => (count === 1 ? '1 dead job' : `${count} dead jobs`)

export const deadCommand: Command = {
  name: 'dead',
  usage: 'dead [list | retry | delete]',
  summary: 'show, retry or delete dead jobs',
  about: [
    'A job is dead when it has used up its retries, or failed in a way that a retry cannot fix. It is kept for 180 ' +
      'days with its arguments and its last ten failures, at most 10000 jobs per queue.',
    'list shows the dead jobs with their last failure, the latest first; --json adds all failures and the arguments. ' +
      'retry puts them back into their queue with all their retries again; a chain continues with its step. delete ' +
      'removes them permanently.',
    'The filters combine; without --queue they apply to all queues. If retry or delete would change more than one ' +
      'job, pass --yes or name the ids.',
  ],
  arity: { min: 0, max: 1 },
  takesIds: true,
  options: [
    { flag: 'queue', value: 'name', about: 'only this queue', fallback: 'all' },
    { flag: 'id', value: 'id', isList: true, about: 'only this job; several with commas, or repeat --id' },
    { flag: 'task', value: 'name:1.0', about: 'only this task' },
    { flag: 'key', value: 'text', about: 'only this key' },
    { flag: 'code', value: 'code', about: 'only jobs whose last failure has this code, such as TaskFailed' },
    { flag: 'older', value: 'time', about: 'only jobs dead for longer than this: 2h, 7d' },
    { flag: 'args', value: 'json', about: 'retry one job with these arguments instead of its own' },
    { flag: 'dry-run', about: 'only count the jobs' },
    { flag: 'yes', about: 'change more than one job' },
    limitOption,
    jsonOption,
  ],
  examples: [
    { line: 'pshub dead', about: 'the dead jobs, and why they failed' },
    { line: 'pshub dead retry --task report:1.0 --code TaskFailed --yes', about: 'after the fix is deployed' },
    {
      line: `pshub dead retry --id hAx4WmHgRkt9nVrqo0bLmQ --args '{"month":"2026-11"}'`,
      about: 'with corrected arguments',
    },
    { line: 'pshub dead delete --older 30d --dry-run', about: 'count those older than a month' },
  ],
  exitCodes: {
    0: 'shown, retried or deleted, even if none matched',
    1: 'not all named ids were found, or Redis refused',
    2: 'the command line or a setting is wrong, or --yes is missing',
    3: 'Redis could not be reached',
  },
  run,
}

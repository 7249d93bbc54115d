import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type Hub, HubError, type JobDetails, type JobLook, type JobPlace, parseExact, stringifyExact } from 'pshub'
import {
  type JobChange,
  type JobDetail,
  type JobPage,
  type JobState,
  jobStates,
  type MatchingStep,
} from '../job-contract.ts'
import { placeholder } from '../schema/secrets.ts'
import { rightsOf } from './access.ts'
import { auditOf } from './audit.ts'
import { exactArgs } from './body.ts'
import { Fields } from './fields.ts'
import { filledBack } from './filled-back.ts'
import { shownJob } from './job-detail.ts'
import type { Mask, Masks } from './masks.ts'
import { Refusal } from './refusal.ts'
import { notToBeRun, type Rights } from './rules.ts'
import { Turns } from './turns.ts'

export interface JobRoutesOptions {
  hub: Hub
  masks: Masks
}

interface JobRequest {
  Params: { id: string }
}

const view = { config: { registryAccess: 'view' as const } }
const admin = { config: { registryAccess: 'admin' as const } }
const placeNames = ['queue', 'state', 'atMs'] as const
const matchNames = ['state', 'queue', 'task', 'key', 'text', 'from', 'untilMs'] as const
const openStates: readonly JobState[] = ['waiting', 'running', 'scheduled', 'retrying', 'dead']
const mostListed = 500
/** Searches that go on at the same time: each of them keeps Redis busy for a hundredth of its time. */
export const searchesAtOnce = 2
/** A body is bounded before that. */
const longestArgs = Number.MAX_SAFE_INTEGER
/** Each queue has a part in it. */
export const longestPlace = 8000

/** What there is of jobs, and what changes them. All of it may be repeated without harm. */
export const jobRoutes = async (app: FastifyInstance, options: JobRoutesOptions): Promise<void> => {
  const turns = new Turns(searchesAtOnce)
  lookRoutes(app, options, turns)
  changeRoutes(app, options)
  matchingRoutes(app, options, turns)
}

const lookRoutes = (app: FastifyInstance, { hub, masks }: JobRoutesOptions, turns: Turns): void => {
  const audit = auditOf(app, 'job')

  app.get('/api/jobs', view, async (request): Promise<JobPage> => {
    const fields = new Fields(request.query, ['state', 'queue', 'task', 'key', 'text', 'from', 'limit'])
    const query = { state: fields.choice('state', jobStates), ...whichOf(fields) }
    const limit = Math.max(1, fields.count('limit', mostListed) ?? 50)
    const isSearch = query.state === 'done' || (query.task ?? query.key ?? query.text) !== undefined
    const look = await lookOf(request, masks, query.text)
    const list = () => hub.jobs({ ...query, limit, look })
    return isSearch ? turns.take(list) : list()
  })
  app.get<JobRequest>('/api/jobs/:id', view, async (request, reply) => {
    const [id, place] = [idOf(request), placeOf(new Fields(request.query, placeNames))]
    const rights = rightsOf(request)
    const job = await turns.take(() => seenJob(hub, rights, id, place))
    const shown = shownJob(job, rights, await masks.now(job.task))
    return reply.type('application/json; charset=utf-8').send(detailText(shown))
  })
  // Who may change a job may see what is hidden of it, one by one, and that they did is written down.
  app.post<JobRequest>('/api/jobs/:id/reveal', admin, async (request, reply) => {
    const [id, place] = [idOf(request), placeOf(new Fields(request.body, placeNames))]
    const rights = rightsOf(request)
    const job = await turns.take(() => seenJob(hub, rights, id, place))
    audit(request, 'job revealed', { id, queue: job.queue, task: job.task })
    return reply.type('application/json; charset=utf-8').send(detailText(shownJob(job, rights, undefined)))
  })
}

const changeRoutes = (app: FastifyInstance, { hub, masks }: JobRoutesOptions): void => {
  const audit = auditOf(app, 'job')

  app.post<JobRequest>('/api/jobs/:id/retry', admin, async (request): Promise<JobChange> => {
    const fields = new Fields(request.body, ['queue', 'args', 'argsText'])
    const [id, queue] = [idOf(request), fields.neededText('queue')]
    const dead = hub.dead(queue)
    const [job] = await dead.list({ ids: [id] }, 1)
    if (job && !rightsOf(request).runs(job.task)) throw notToBeRun(job.task)
    const argsText = fields.text('argsText', longestArgs)
    const given = argsText !== undefined ? { argsText } : fields.has('args') ? { args: exactArgs(request) } : {}
    const count = job ? await dead.retry({ ids: [id] }, await editedArgs(job, given, masks)) : 0
    audit(request, 'job retried', { id, queue, changed: count > 0, newArgs: Object.keys(given).length > 0 })
    return { id, changed: count > 0 }
  })

  app.post<JobRequest>('/api/jobs/:id/delete', admin, async (request): Promise<JobChange> => {
    const [id, queue] = [idOf(request), new Fields(request.body, placeNames).neededText('queue')]
    const dead = hub.dead(queue)
    const [job] = await dead.list({ ids: [id] }, 1)
    const count = job && rightsOf(request).sees(job.task) ? await dead.delete({ ids: [id] }) : 0
    audit(request, 'job deleted', { id, queue, changed: count > 0 })
    return { id, changed: count > 0 }
  })

  app.post<JobRequest>('/api/jobs/:id/cancel', admin, async (request): Promise<JobChange> => {
    const [id, place] = [idOf(request), placeOf(new Fields(request.body, placeNames))]
    await checkSeen(hub, request, id, place)
    const changed = await hub.cancelJob(id, place)
    audit(request, 'job cancelled', { id, queue: place.queue, changed })
    return { id, changed }
  })

  app.post<JobRequest>('/api/jobs/:id/run', admin, async (request): Promise<JobChange> => {
    const [id, place] = [idOf(request), placeOf(new Fields(request.body, placeNames))]
    const rights = rightsOf(request)
    const { task, queue } = await seenJob(hub, rights, id, place)
    if (!rights.runs(task)) throw notToBeRun(task)
    const changed = await hub.runJob(id, { ...place, queue })
    audit(request, 'job run at once', { id, queue, changed })
    return { id, changed }
  })

  app.post<JobRequest>('/api/jobs/:id/cancel-chain', admin, async (request): Promise<JobChange> => {
    const [id, place] = [idOf(request), placeOf(new Fields(request.body, placeNames))]
    await checkSeen(hub, request, id, place)
    const job = await hub.job(id, place.queue === undefined ? {} : { queue: place.queue })
    const chain = await job.chain()
    if (!chain) throw new Refusal(400, 'BadRequest', `Job ${id} is not a step of a chain.`)
    await chain.cancel()
    audit(request, 'chain cancelled', { id, queue: job.queue })
    return { id, changed: true }
  })
}

const matchingRoutes = (app: FastifyInstance, { hub, masks }: JobRoutesOptions, turns: Turns): void => {
  const audit = auditOf(app, 'jobs')

  app.get('/api/jobs-matching', view, async (request): Promise<MatchingStep> => {
    const match = matchOf(new Fields(request.query, matchNames))
    const look = await lookOf(request, masks, match.text)
    return turns.take(() => hub.bulkStep(undefined, { ...match, look }))
  })

  for (const action of ['retry', 'delete', 'cancel', 'run'] as const) {
    app.post(`/api/jobs-matching/${action}`, admin, async (request): Promise<MatchingStep> => {
      const match = matchOf(new Fields(request.body, matchNames))
      // Of any task is more than some tasks.
      if ((action === 'retry' || action === 'run') && !rightsOf(request).runs(match.task ?? ''))
        throw notToBeRun(match.task ?? 'Jobs of all tasks')
      const look = await lookOf(request, masks, match.text)
      const step = await turns.take(() => hub.bulkStep(action, { ...match, look }))
      const { changed, skipped } = step
      audit(request, `jobs: ${action}`, { ...match, changed, skipped })
      return step
    })
  }
}

/** What of jobs may be looked at, and looked through; undefined: all of it. */
const lookOf = async (
  request: FastifyRequest,
  masks: Masks,
  text: string | undefined,
): Promise<JobLook | undefined> => {
  const { seesAll, sees } = rightsOf(request)
  if (seesAll && text === undefined) return undefined
  const mask: Mask = await masks.now()
  return { sees, args: (task, args) => mask.args(task, args).value }
}

/** @throws HubError NoSuchJob, also for one of a task that is hidden */
const seenJob = async (hub: Hub, { sees }: Rights, id: string, place: JobPlace): Promise<JobDetails> => {
  const job = await hub.jobDetails(id, place)
  if (sees(job.task)) return job
  throw new HubError('NoSuchJob', `There is no record of job ${id}.`)
}

/** Also that nothing of its chain is hidden. */
const checkSeen = async (hub: Hub, request: FastifyRequest, id: string, place: JobPlace): Promise<void> => {
  const rights = rightsOf(request)
  if (rights.seesAll) return
  const { chain } = await seenJob(hub, rights, id, place)
  const hidden = chain?.steps.find(({ task }) => !rights.sees(task))
  if (hidden) throw new Refusal(403, 'Forbidden', 'This job is a step of a chain with tasks that you may not see.')
}

type GivenArgs = { args?: unknown } | { argsText: string }

/** Of a job that is tried again with others: what was hidden from whoever edited them is in its place. */
const editedArgs = async (job: { task: string; args: unknown }, given: GivenArgs, masks: Masks): Promise<GivenArgs> => {
  if (!('args' in given) && !('argsText' in given)) return given
  // What is written anew stays as it is written.
  if ('argsText' in given && !given.argsText.includes(placeholder)) return given
  const shown = (await masks.now(job.task)).args(job.task, job.args)
  if (shown.isWhole) return given
  return { args: filledBack(job.args, shown.value, 'argsText' in given ? parsed(given.argsText) : given.args) }
}

const parsed = (json: string): unknown => {
  try {
    return parseExact(json)
  } catch {
    throw new Refusal(400, 'BadRequest', "'argsText' must be JSON.")
  }
}

/** A JobDetail. Its arguments are sent as they are written: made a value, and JSON again, large numbers would be rounded. */
const detailText = ({ argsText, ...details }: JobDetail): string => {
  if (argsText === undefined || argsText === stringifyExact(details.args)) return stringifyExact(details)
  return `{"argsText":${JSON.stringify(argsText)},${JSON.stringify({ ...details, args: undefined }).slice(1, -1)},"args":${argsText}}`
}

const idOf = ({ params }: FastifyRequest<JobRequest>): string => {
  if (/^[A-Za-z0-9_-]{1,64}$/.test(params.id)) return params.id
  throw new Refusal(400, 'BadRequest', 'This is not the id of a job.')
}

const whichOf = (fields: Fields) => ({
  queue: filled(fields.text('queue')),
  task: filled(fields.text('task')),
  key: filled(fields.text('key')),
  text: filled(fields.text('text')),
  from: filled(fields.text('from', longestPlace)),
})

const matchOf = (fields: Fields) => ({
  state: fields.neededChoice('state', openStates),
  ...whichOf(fields),
  untilMs: fields.moment('untilMs'),
})

const placeOf = (fields: Fields): JobPlace => ({
  queue: filled(fields.text('queue')),
  state: fields.choice('state', openStates),
  atMs: fields.moment('atMs'),
})

/** An empty field of a form says nothing. */
const filled = (text: string | undefined): string | undefined => (text === '' ? undefined : text)

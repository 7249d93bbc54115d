import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Hub, JobDetails, JobPlace } from 'pshub'
import { type JobChange, type JobPage, type JobState, jobStates, type MatchingStep } from '../job-contract.ts'
import { auditOf } from './audit.ts'
import { Fields } from './fields.ts'
import { Refusal } from './refusal.ts'
import { Turns } from './turns.ts'

export interface JobRoutesOptions {
  hub: Hub
  /** Whether a task may be run from here. */
  mayRun(task: string): boolean
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

const lookRoutes = (app: FastifyInstance, { hub }: JobRoutesOptions, turns: Turns): void => {
  app.get('/api/jobs', view, async (request): Promise<JobPage> => {
    const fields = new Fields(request.query, ['state', 'queue', 'task', 'key', 'text', 'from', 'limit'])
    const query = { state: fields.choice('state', jobStates), ...whichOf(fields) }
    const limit = Math.max(1, fields.count('limit', mostListed) ?? 50)
    const isSearch = query.state === 'done' || (query.task ?? query.key ?? query.text) !== undefined
    const list = () => hub.jobs({ ...query, limit })
    return isSearch ? turns.take(list) : list()
  })
  app.get<JobRequest>('/api/jobs/:id', view, async (request, reply) => {
    const [id, place] = [idOf(request), placeOf(new Fields(request.query, placeNames))]
    const details = await turns.take(() => hub.jobDetails(id, place))
    return reply.type('application/json; charset=utf-8').send(detailText(details))
  })
}

const changeRoutes = (app: FastifyInstance, { hub, mayRun }: JobRoutesOptions): void => {
  const audit = auditOf(app, 'job')

  app.post<JobRequest>('/api/jobs/:id/retry', admin, async (request): Promise<JobChange> => {
    const fields = new Fields(request.body, ['queue', 'args', 'argsText'])
    const [id, queue] = [idOf(request), fields.neededText('queue')]
    const dead = hub.dead(queue)
    const [job] = await dead.list({ ids: [id] }, 1)
    if (job && !mayRun(job.task)) throw notToBeRun(job.task)
    const argsText = fields.text('argsText', longestArgs)
    const args = argsText !== undefined ? { argsText } : fields.has('args') ? { args: fields.any('args') } : {}
    const count = job ? await dead.retry({ ids: [id] }, args) : 0
    audit(request, 'job tried again', { id, queue, changed: count > 0, newArgs: 'args' in args || 'argsText' in args })
    return { id, changed: count > 0 }
  })

  app.post<JobRequest>('/api/jobs/:id/delete', admin, async (request): Promise<JobChange> => {
    const [id, queue] = [idOf(request), new Fields(request.body, placeNames).neededText('queue')]
    const count = await hub.dead(queue).delete({ ids: [id] })
    audit(request, 'job deleted', { id, queue, changed: count > 0 })
    return { id, changed: count > 0 }
  })

  app.post<JobRequest>('/api/jobs/:id/cancel', admin, async (request): Promise<JobChange> => {
    const [id, place] = [idOf(request), placeOf(new Fields(request.body, placeNames))]
    const changed = await hub.cancelJob(id, place)
    audit(request, 'job cancelled', { id, queue: place.queue, changed })
    return { id, changed }
  })

  app.post<JobRequest>('/api/jobs/:id/run', admin, async (request): Promise<JobChange> => {
    const [id, place] = [idOf(request), placeOf(new Fields(request.body, placeNames))]
    const { task, queue } = await hub.jobDetails(id, place)
    if (!mayRun(task)) throw notToBeRun(task)
    const changed = await hub.runJob(id, { ...place, queue })
    audit(request, 'job run at once', { id, queue, changed })
    return { id, changed }
  })

  app.post<JobRequest>('/api/jobs/:id/cancel-chain', admin, async (request): Promise<JobChange> => {
    const [id, place] = [idOf(request), placeOf(new Fields(request.body, placeNames))]
    const job = await hub.job(id, place.queue === undefined ? {} : { queue: place.queue })
    const chain = await job.chain()
    if (!chain) throw new Refusal(400, 'BadRequest', `Job ${id} is no step of a chain.`)
    await chain.cancel()
    audit(request, 'chain cancelled', { id, queue: job.queue })
    return { id, changed: true }
  })
}

const matchingRoutes = (app: FastifyInstance, { hub, mayRun }: JobRoutesOptions, turns: Turns): void => {
  const audit = auditOf(app, 'jobs')

  app.get('/api/jobs-matching', view, async (request): Promise<MatchingStep> => {
    const match = matchOf(new Fields(request.query, matchNames))
    return turns.take(() => hub.bulkStep(undefined, match))
  })

  for (const action of ['retry', 'delete', 'cancel', 'run'] as const) {
    app.post(`/api/jobs-matching/${action}`, admin, async (request): Promise<MatchingStep> => {
      const match = matchOf(new Fields(request.body, matchNames))
      // Of any task is more than some tasks.
      if ((action === 'retry' || action === 'run') && !mayRun(match.task ?? ''))
        throw notToBeRun(match.task ?? 'What is of any task')
      const step = await turns.take(() => hub.bulkStep(action, match))
      const { changed, skipped } = step
      audit(request, `jobs: ${action}`, { ...match, changed, skipped })
      return step
    })
  }
}

/** A JobDetail. Its arguments are sent as they are written: made a value, and JSON again, large numbers would be rounded. */
const detailText = ({ argsText, ...details }: JobDetails): string => {
  if (argsText === undefined || argsText === JSON.stringify(details.args)) return JSON.stringify(details)
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

export const notToBeRun = (task: string): Refusal =>
  new Refusal(403, 'Forbidden', `${task.slice(0, 200)} is not among the tasks that may be run here.`)

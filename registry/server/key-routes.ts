import type { FastifyInstance } from 'fastify'
import type { DeadJob, Hub, JobKey, KeyStatus } from 'pshub'
import type { DeadOfKey, KeyChange, KeyDetail, KeyText } from '../job-contract.ts'
import { auditOf } from './audit.ts'
import { Fields } from './fields.ts'
import { type JobRoutesOptions, longestPlace, notToBeRun, searchesAtOnce } from './job-routes.ts'
import { Turns } from './turns.ts'

const view = { config: { registryAccess: 'view' as const } }
const admin = { config: { registryAccess: 'admin' as const } }
const placeNames = ['task', 'key', 'queue'] as const
/** Arguments may be a megabyte each; so many characters of their JSON are told, and on the page of a job all of them. */
const longestJson = 2000
const mostDead = 100

/** What there is of one key of a task's jobs, and what changes it. All of it may be repeated without harm. */
export const keyRoutes = async (app: FastifyInstance, { hub, mayRun }: JobRoutesOptions): Promise<void> => {
  const turns = new Turns(searchesAtOnce)
  const audit = auditOf(app, 'key')

  app.get('/api/keys', view, async (request): Promise<KeyDetail> => {
    const key = await keyOf(hub, new Fields(request.query, placeNames))
    return turns.take(async () => detailOf(await key.status()))
  })

  app.get('/api/keys/dead', view, async (request): Promise<DeadOfKey> => {
    const key = await keyOf(hub, new Fields(request.query, placeNames))
    return turns.take(async () => {
      const dead = await key.dead()
      return { jobs: dead.slice(0, mostDead).map(deadOf), count: dead.length }
    })
  })

  const act = (
    action: 'run' | 'skip' | 'delete' | 'retry',
    names: readonly string[],
    change: (key: JobKey, fields: Fields) => Promise<Omit<KeyChange, 'queue' | 'task' | 'key'>>,
  ) =>
    app.post(`/api/keys/${action}`, admin, async (request): Promise<KeyChange> => {
      const fields = new Fields(request.body, names)
      const key = await keyOf(hub, fields)
      const place = { queue: key.queue, task: key.task, key: key.key }
      // These two have a handler run that would not now.
      if ((action === 'run' || action === 'retry') && !mayRun(key.task)) throw notToBeRun(key.task)
      const done = await change(key, fields)
      audit(request, `key: ${action}`, { ...place, changed: done.changed })
      return { ...place, ...done }
    })

  act('run', placeNames, async key => ({ changed: await key.runNow() }))
  act('skip', placeNames, async key => ({ changed: (await key.skip()) ? 1 : 0 }))
  act('retry', placeNames, key => turns.take(async () => ({ changed: await key.retryDead() })))
  act('delete', [...placeNames, 'from'], (key, fields) => {
    const from = fields.text('from', longestPlace)
    return turns.take(() => deleteSome(hub, key, from))
  })
}

/** The payloads of a key, and of the jobs of its line those of one step. */
const deleteSome = async (hub: Hub, key: JobKey, from: string | undefined) => {
  const payloads = from === undefined ? await key.delete() : 0
  const isLine = from !== undefined || (await key.status()).jobs.length > 0
  if (!isLine) return { changed: payloads }
  const { queue, task } = key
  const query = { state: 'waiting' as const, queue, task, key: key.key, from }
  const { changed, skipped, next } = await hub.bulkStep('cancel', query)
  if (next !== undefined) return { changed: payloads + changed, skipped, next }
  // A line that is empty now would count as one that waits until its time has come.
  await key.delete()
  return { changed: payloads + changed, skipped }
}

const keyOf = (hub: Hub, fields: Fields): Promise<JobKey> =>
  hub.key(fields.neededText('task'), fields.neededText('key'), { queue: fields.text('queue') || undefined })

const detailOf = ({ payloads, jobs, ...status }: KeyStatus): KeyDetail => ({
  ...status,
  payloads: payloads.map(({ args, score }) => ({ args: textOf(args), score })),
  jobs: jobs.map(job => ({ ...job, args: textOf(job.args) })),
})

const deadOf = ({ id, atMs, tries, errors, score, args }: DeadJob): DeadOfKey['jobs'][number] => ({
  ...{ id, atMs, tries, score },
  error: errors.at(-1),
  args: textOf(args),
})

const textOf = (value: unknown): KeyText => {
  const json = JSON.stringify(value) ?? 'null'
  return { json: json.slice(0, longestJson), length: json.length }
}

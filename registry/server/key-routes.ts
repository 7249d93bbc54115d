import type { FastifyInstance } from 'fastify'
import { type DeadJob, type Hub, type JobKey, type KeyStatus, stringifyExact } from 'pshub'
import type { DeadOfKey, KeyChange, KeyDetail, KeyText } from '../job-contract.ts'
import { rightsOf } from './access.ts'
import { auditOf } from './audit.ts'
import { Fields } from './fields.ts'
import { type JobRoutesOptions, longestPlace, searchesAtOnce } from './job-routes.ts'
import type { Mask } from './masks.ts'
import { Refusal } from './refusal.ts'
import { notToBeRun, type Rights } from './rules.ts'
import { Turns } from './turns.ts'

const view = { config: { registryAccess: 'view' as const } }
const admin = { config: { registryAccess: 'admin' as const } }
const placeNames = ['task', 'key', 'queue'] as const
/** Arguments may be a megabyte each; so many characters of their JSON are told, and on the page of a job all of them. */
const longestJson = 2000
const mostDead = 100

/** What there is of one key of a task's jobs, and what changes it. All of it may be repeated without harm. */
export const keyRoutes = async (app: FastifyInstance, { hub, masks }: JobRoutesOptions): Promise<void> => {
  const turns = new Turns(searchesAtOnce)
  const audit = auditOf(app, 'key')

  app.get('/api/keys', view, async (request): Promise<KeyDetail> => {
    const key = await keyOf(hub, rightsOf(request), new Fields(request.query, placeNames))
    const mask = await masks.now(key.task)
    return turns.take(async () => detailOf(await key.status(), mask))
  })

  app.get('/api/keys/dead', view, async (request): Promise<DeadOfKey> => {
    const key = await keyOf(hub, rightsOf(request), new Fields(request.query, placeNames))
    const mask = await masks.now(key.task)
    return turns.take(async () => {
      const dead = await key.dead()
      return { jobs: dead.slice(0, mostDead).map(job => deadOf(job, mask)), count: dead.length }
    })
  })

  const act = (
    action: 'run' | 'skip' | 'delete' | 'retry',
    names: readonly string[],
    change: (key: JobKey, fields: Fields) => Promise<Omit<KeyChange, 'queue' | 'task' | 'key'>>,
  ) =>
    app.post(`/api/keys/${action}`, admin, async (request): Promise<KeyChange> => {
      const fields = new Fields(request.body, names)
      const key = await keyOf(hub, rightsOf(request), fields)
      const place = { queue: key.queue, task: key.task, key: key.key }
      // These two have a handler run that would not now.
      if ((action === 'run' || action === 'retry') && !rightsOf(request).runs(key.task)) throw notToBeRun(key.task)
      const done = await change(key, fields)
      audit(request, `key: ${action}`, { ...place, changed: done.changed })
      return { ...place, ...done }
    })

  act('run', placeNames, async key => ({ changed: await key.runNow() }))
  act('skip', [...placeNames, 'id', 'score'], async (key, fields) => {
    const what = { id: fields.text('id'), score: fields.number('score') }
    return { changed: (await key.skip(what)) ? 1 : 0 }
  })
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

/** A task that is hidden is one that nobody knows, whatever name of it is asked for. */
const keyOf = async (hub: Hub, { sees }: Rights, fields: Fields): Promise<JobKey> => {
  const task = fields.neededText('task')
  const unknown = () => new Refusal(404, 'NotFound', `There is no task ${JSON.stringify(task)}.`)
  if (!sees(task)) throw unknown()
  const key = await hub.key(task, fields.neededText('key'), { queue: fields.text('queue') || undefined })
  if (!sees(key.task)) throw unknown()
  return key
}

const detailOf = ({ payloads, jobs, ...status }: KeyStatus, mask: Mask): KeyDetail => {
  const shown = (args: unknown) => textOf(mask.args(status.task, args).value)
  return {
    ...status,
    payloads: payloads.map(({ args, score }) => ({ args: shown(args), score })),
    jobs: jobs.map(job => ({ ...job, args: shown(job.args) })),
  }
}

const deadOf = ({ id, task, atMs, tries, errors, score, args }: DeadJob, mask: Mask): DeadOfKey['jobs'][number] => ({
  ...{ id, atMs, tries, score },
  error: errors.at(-1),
  args: textOf(mask.args(task, args).value),
})

const textOf = (value: unknown): KeyText => {
  const json = stringifyExact(value) ?? 'null'
  return { json: json.slice(0, longestJson), length: json.length }
}

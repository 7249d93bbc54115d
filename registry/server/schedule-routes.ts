import type { FastifyInstance } from 'fastify'
import { type Hub, HubError } from 'pshub'
import type { ScheduleChange, ScheduleRow } from '../job-contract.ts'
import { rightsOf } from './access.ts'
import { auditOf } from './audit.ts'
import { exactArgs } from './body.ts'
import { Fields } from './fields.ts'
import type { Masks } from './masks.ts'
import type { Readings } from './readings.ts'
import { Refusal } from './refusal.ts'
import { notToBeRun } from './rules.ts'
import { sharedRead } from './shared-read.ts'

export interface ScheduleRoutesOptions {
  hub: Hub
  readings: Readings
  masks: Masks
}

interface ScheduleRequest {
  Params: { queue: string; name: string }
}

const view = { config: { registryAccess: 'view' as const } }
const admin = { config: { registryAccess: 'admin' as const } }
/** How old the list may be, and how many queues are asked at once for it. */
const listMaxAgeMs = 500
const queuesAtOnce = 20

/** Jobs at their times: what there is, and what changes it. */
export const scheduleRoutes = async (app: FastifyInstance, options: ScheduleRoutesOptions): Promise<void> => {
  const { hub, readings, masks } = options
  const audit = auditOf(app, 'schedule')
  const list = sharedRead(() => listAll(hub, readings), listMaxAgeMs)
  const shown = async (rows: readonly ScheduleRow[]): Promise<ScheduleRow[]> => {
    const mask = await masks.now()
    return rows.map(row => ({ ...row, args: mask.args(row.task, row.args).value }))
  }
  app.get('/api/schedules', view, async (request): Promise<ScheduleRow[]> => {
    const { sees } = rightsOf(request)
    return shown((await list()).filter(({ task }) => sees(task)))
  })

  app.post('/api/schedules', admin, async (request): Promise<ScheduleRow> => {
    const fields = new Fields(request.body, ['name', 'cron', 'timezone', 'missed', 'task', 'args', 'queue', 'key'])
    const [name, task] = [fields.neededText('name'), fields.neededText('task')]
    const { seesAll, sees, runs } = rightsOf(request)
    if (!runs(task)) throw notToBeRun(task)
    const timezone = fields.text('timezone')
    const times = {
      cron: fields.neededText('cron'),
      ...(timezone ? { timezone } : {}),
      missed: fields.choice('missed', ['once', 'skip']),
    }
    const args = fields.has('args') ? exactArgs(request) : {}
    const queue = fields.text('queue') || undefined
    const isHidden = (row: ScheduleRow) => row.name === name && !sees(row.task)
    if (!seesAll && (await listAll(hub, readings)).some(isHidden))
      throw new Refusal(403, 'Forbidden', 'There is a schedule of this name that you may not see; choose another name.')
    const schedule = await hub.schedule(name, times, task, args, { queue, key: fields.text('key') || undefined })
    audit(request, 'schedule written', { name, queue: schedule.queue, task: schedule.task, cron: times.cron })
    return (await shown([schedule]))[0]!
  })

  for (const action of ['pause', 'resume', 'run', 'remove'] as const) {
    app.post<ScheduleRequest>(`/api/schedules/:queue/:name/${action}`, admin, async request => {
      const { queue, name } = request.params
      new Fields(request.body, [])
      const schedules = hub.schedules(queue)
      const rights = rightsOf(request)
      if (action === 'run' || !rights.seesAll) {
        const known = (await schedules.list()).find(each => each.name === name)
        if (known && !rights.sees(known.task)) throw unknown(queue, name)
        if (known && action === 'run' && !rights.runs(known.task)) throw notToBeRun(known.task)
      }
      const done = await schedules[action](name)
      if (done === false || done === undefined) throw unknown(queue, name)
      audit(request, `schedule: ${action}`, { name, queue })
      const change: ScheduleChange = {
        name,
        queue,
        ...(typeof done === 'object' ? { job: done.id, isTwin: done.isTwin } : {}),
      }
      return change
    })
  }
}

const unknown = (queue: string, name: string): Refusal =>
  new Refusal(404, 'NotFound', `There is no schedule ${JSON.stringify(name.slice(0, 80))} in queue ${queue}.`)

const listAll = async (hub: Hub, readings: Readings): Promise<ScheduleRow[]> => {
  const { overview } = await readings.latest()
  const queues = [...new Set(overview.queues.map(({ queue }) => queue))]
  const all: ScheduleRow[] = []
  for (let from = 0; from < queues.length; from += queuesAtOnce)
    all.push(...(await Promise.all(queues.slice(from, from + queuesAtOnce).map(queue => listOf(hub, queue)))).flat())
  return all
}

/** A card may name a queue that none can be. */
const listOf = async (hub: Hub, queue: string): Promise<ScheduleRow[]> => {
  try {
    return await hub.schedules(queue).list()
  } catch (error) {
    if (error instanceof HubError && error.code === 'InvalidArgs') return []
    throw error
  }
}

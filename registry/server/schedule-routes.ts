import type { FastifyInstance } from 'fastify'
import { type Hub, HubError } from 'pshub'
import type { ScheduleChange, ScheduleRow } from '../job-contract.ts'
import { auditOf } from './audit.ts'
import { Fields } from './fields.ts'
import { notToBeRun } from './job-routes.ts'
import type { Readings } from './readings.ts'
import { Refusal } from './refusal.ts'
import { sharedRead } from './shared-read.ts'

export interface ScheduleRoutesOptions {
  hub: Hub
  readings: Readings
  /** Whether a task may be run from here. */
  mayRun(task: string): boolean
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
  const { hub, readings, mayRun } = options
  const audit = auditOf(app, 'schedule')
  const list = sharedRead(() => listAll(hub, readings), listMaxAgeMs)
  app.get('/api/schedules', view, (): Promise<ScheduleRow[]> => list())

  app.post('/api/schedules', admin, async (request): Promise<ScheduleRow> => {
    const fields = new Fields(request.body, ['name', 'cron', 'timezone', 'missed', 'task', 'args', 'queue', 'key'])
    const [name, task] = [fields.neededText('name'), fields.neededText('task')]
    if (!mayRun(task)) throw notToBeRun(task)
    const timezone = fields.text('timezone')
    const times = {
      cron: fields.neededText('cron'),
      ...(timezone ? { timezone } : {}),
      missed: fields.choice('missed', ['once', 'skip']),
    }
    const args = fields.has('args') ? fields.any('args') : {}
    const queue = fields.text('queue') || undefined
    const schedule = await hub.schedule(name, times, task, args, { queue, key: fields.text('key') || undefined })
    audit(request, 'schedule written', { name, queue: schedule.queue, task: schedule.task, cron: times.cron })
    return schedule
  })

  for (const action of ['pause', 'resume', 'run', 'remove'] as const) {
    app.post<ScheduleRequest>(`/api/schedules/:queue/:name/${action}`, admin, async request => {
      const { queue, name } = request.params
      new Fields(request.body, [])
      const schedules = hub.schedules(queue)
      if (action === 'run') {
        const known = (await schedules.list()).find(each => each.name === name)
        if (known && !mayRun(known.task)) throw notToBeRun(known.task)
      }
      const done = await schedules[action](name)
      if (done === false || done === undefined) throw unknown(queue, name)
      audit(request, `schedule: ${action}`, { name, queue })
      const change: ScheduleChange = { name, queue, ...(typeof done === 'object' ? { job: done.id } : {}) }
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

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Hub } from 'pshub'
import { type Topic, topics } from '../contract.ts'
import type { HistoryStore, Range } from './history.ts'
import { LiveStream } from './live.ts'
import type { Readings } from './readings.ts'
import { queueRows, summaryOf, taskRows, workerRows } from './rows.ts'
import { taskDetail } from './task-detail.ts'

export interface ReadParts {
  hub: Hub
  readings: Readings
  history: HistoryStore
}

const view = { config: { registryAccess: 'view' as const } }

/** Everything that only looks. */
export const readRoutes = async (app: FastifyInstance, parts: ReadParts): Promise<void> => {
  const { hub, readings, history } = parts
  const rows = async <Row>(list: (reading: Awaited<ReturnType<Readings['latest']>>) => { row: Row }[]) =>
    list(await readings.latest()).map(({ row }) => row)

  app.get('/api/overview', view, async () => summaryOf((await readings.latest()).overview))
  app.get('/api/tasks', view, () => rows(({ overview }) => taskRows(overview, history)))
  app.get('/api/workers', view, () => rows(({ overview }) => workerRows(overview)))
  app.get('/api/queues', view, () => rows(({ overview }) => queueRows(overview, history)))
  app.get<{ Params: { task: string } }>('/api/tasks/:task', view, async (request, reply) => {
    const detail = await taskDetail(hub, await readings.latest(), history, request.params.task)
    return detail ?? reply.code(404).send(noTask(request.params.task))
  })
  app.get<{ Querystring: { range?: Range; queue?: string; task?: string } }>('/api/history', view, async request => {
    const { range = '15m', queue, task } = request.query
    if (task !== undefined) return history.read('task', task, range)
    return queue === undefined ? history.read('all', '', range) : history.read('queue', queue, range)
  })
  app.get<{ Querystring: { topics?: string } }>('/api/live', { ...view, exposeHeadRoute: false }, (request, reply) =>
    openStream(parts, request, reply),
  )
}

const noTask = (task: string) => ({
  error: { code: 'NotFound', message: `The registry knows no task ${JSON.stringify(task)}.` },
})

const openStream = (
  { readings, history }: ReadParts,
  request: FastifyRequest<{ Querystring: { topics?: string } }>,
  reply: FastifyReply,
): void => {
  const asked = (request.query.topics ?? '').split(',')
  const wanted = topics.filter((topic: Topic) => asked.includes(topic))
  reply.hijack()
  for (const [name, value] of Object.entries(reply.getHeaders()))
    if (value !== undefined) reply.raw.setHeader(name, value)
  reply.raw.writeHead(200, {
    'content-type': 'text/event-stream',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
  })
  const stream = new LiveStream(reply.raw, wanted.length > 0 ? wanted : topics, history)
  const leave = readings.watch(stream)
  reply.raw.on('close', leave)
}

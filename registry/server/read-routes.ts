import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type Hub, prometheusText, stringifyExact } from 'pshub'
import type { Deploy } from '../contract.ts'
import { rightsOf } from './access.ts'
import { callListRoutes } from './call-list-routes.ts'
import type { HistoryStore, Range } from './history.ts'
import { openApiDocument } from './openapi.ts'
import type { Proxies } from './proxies.ts'
import { queryChoice, queryText } from './query.ts'
import type { Reading, Readings } from './readings.ts'
import { Refusal } from './refusal.ts'
import { queueRows, summaryOf, taskRows, workerRows } from './rows.ts'
import { searchRoutes } from './search-routes.ts'
import { sharedRead } from './shared-read.ts'
import { taskDetail } from './task-detail.ts'
import { visible } from './visible.ts'
import { whenceOf } from './whence.ts'
import { workerDetail } from './worker-detail.ts'

export interface ReadParts {
  hub: Hub
  readings: Readings
  history: HistoryStore
  proxies: Proxies
}

const view = { config: { registryAccess: 'view' as const } }
const ranges: readonly Range[] = ['15m', '1h', '1d', '30d']
const maxNameLength = 200
/** How old a reading may be that says that there is no such task. */
const unknownMaxAgeMs = 250
/** How old lists may be that are read apart from the rest. */
const listMaxAgeMs = 1000
/** How old a reading may be that says that Redis is there. */
const healthMaxAgeMs = 6000

const unknown = (what: string, name: string): Refusal =>
  new Refusal(404, 'NotFound', `The registry knows no ${what} ${JSON.stringify(name.slice(0, maxNameLength))}.`)

/** Everything that only looks, once. */
export const readRoutes = async (app: FastifyInstance, parts: ReadParts): Promise<void> => {
  const { hub, readings, history, proxies } = parts
  const slowCalls = sharedRead(() => hub.slowCalls(), listMaxAgeMs)
  const failures = sharedRead(() => hub.failures(), listMaxAgeMs)
  /** What is told of tasks is made of what whoever asks may see, and of nothing else. */
  const latest = async (request: FastifyRequest, maxAgeMs?: number) =>
    visible(await readings.latest(maxAgeMs), rightsOf(request))
  const rows = async <Row>(request: FastifyRequest, list: (reading: Reading) => { row: Row }[]) =>
    list(await latest(request)).map(({ row }) => row)

  app.get('/api/overview', view, async request => summaryOf((await latest(request)).overview))
  app.get('/api/tasks', view, request => rows(request, ({ overview }) => taskRows(overview, history)))
  app.get('/api/workers', view, request => rows(request, ({ overview }) => workerRows(overview)))
  app.get('/api/queues', view, request => rows(request, ({ overview }) => queueRows(overview, history)))
  callListRoutes(app, { readings, slowCalls, failures })
  searchRoutes(app, { hub, readings, slowCalls, failures })
  // Names of tasks have slashes.
  app.get<{ Params: { '*': string } }>('/api/tasks/*', view, async (request, reply) => {
    const name = request.params['*']
    const calls = { slow: await slowCalls(), failures: await failures() }
    const { runs } = rightsOf(request)
    const detailIn = (reading: Reading) => taskDetail(reading, history, name, calls, runs)
    // Its worker may have started since the last reading.
    const detail = detailIn(await latest(request)) ?? detailIn(await latest(request, unknownMaxAgeMs))
    if (!detail) throw unknown('task', name)
    return reply.type('application/json; charset=utf-8').send(stringifyExact(detail))
  })
  app.get<{ Params: { '*': string } }>('/api/workers/*', view, async request => {
    const id = request.params['*']
    const find = (reading: Reading) => {
      const worker = reading.overview.workers.find(known => known.id === id)
      return worker && { overview: reading.overview, worker }
    }
    // It may have started since the last reading.
    const found = find(await latest(request)) ?? find(await latest(request, unknownMaxAgeMs))
    if (!found) throw unknown('worker', id)
    const { sees } = rightsOf(request)
    const seen = <Call extends { task: string }>(calls: Call[]) => calls.filter(({ task }) => sees(task))
    const [done, slow, failed] = await Promise.all([hub.workerTasks(found.worker), slowCalls(), failures()])
    return workerDetail(found.overview, found.worker, done, { slow: seen(slow), failures: seen(failed) })
  })
  app.get('/api/history', view, async request => {
    const range = queryChoice(request, 'range', ranges)
    const task = queryText(request, 'task', maxNameLength)
    const queue = queryText(request, 'queue', maxNameLength)
    const { sees } = rightsOf(request)
    if (task !== undefined && !sees(task)) throw unknown('task', task)
    const read = () => {
      if (task !== undefined) return history.read('task', task, range)
      return queue === undefined ? history.read('all', '', range) : history.read('queue', queue, range)
    }
    const told = read()
    const isSeen = ({ kind, what }: Deploy) => (kind !== 'task' && kind !== 'schema') || sees(what)
    return { ...told, deploys: told.deploys.filter(isSeen) }
  })
  app.get('/metrics', view, async (request, reply) => {
    const { overview } = await latest(request)
    return reply.type('text/plain; version=0.0.4; charset=utf-8').send(prometheusText(overview, readings.totals))
  })
  app.get('/openapi.json', view, async request => {
    const { host, isHttps } = whenceOf(request, proxies)
    const server = `${isHttps ? 'https' : 'http'}://${host}${app.prefix}`
    return openApiDocument((await latest(request)).overview, { server, namespace: hub.namespace })
  })
  app.get('/healthz', { config: { registryAccess: 'open' } }, async (_request, reply) => {
    const isThere = await readings.latest(healthMaxAgeMs).then(
      () => true,
      () => false,
    )
    return reply.code(isThere ? 200 : 503).send({ redis: isThere ? 'ok' : 'away' })
  })
}

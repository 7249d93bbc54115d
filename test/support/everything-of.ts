import { prometheusText } from 'pshub'
import { openApiDocument } from '../../registry/server/openapi.ts'
import { queueRows, summaryOf, taskRows, workerRows } from '../../registry/server/rows.ts'
import { taskDetail } from '../../registry/server/task-detail.ts'
import type { Hub, Overview } from '../../src/index.ts'

const trends = { of: () => [], earliest: () => undefined }

/** Everything that is made of the registry, for programs and for people. */
export const everythingOf = async (hub: Hub, overview: Overview): Promise<string[]> => {
  const [slow, failures] = [await hub.slowCalls(), await hub.failures()]
  const reading = { overview, tookMs: 1 }
  const details = overview.tasks.map(({ task }) =>
    taskDetail(reading, trends as never, task, { slow, failures }, () => true),
  )
  const documents = [
    summaryOf(overview),
    taskRows(overview, trends),
    workerRows(overview),
    queueRows(overview, trends),
    details,
    openApiDocument(overview, { server: 'http://localhost', namespace: 'pshub' }),
  ]
  return [...documents.map(document => JSON.stringify(document)), prometheusText(overview)]
}

import type { Catalogue } from '../../catalogue/catalogue.ts'
import { command, near, serversOf } from '../../redis/client.ts'
import type { Redis } from '../../redis/connection.ts'
import { isId, isQueueName, type Keys } from '../../wire/keys.ts'
import { hasEnded, readJobRecord } from '../job-record.ts'
import { holdsText, type JobLook, type QueuedJob } from './job-search.ts'

interface EndedQuery {
  queue?: string | undefined
  task?: string | undefined
  text?: string | undefined
  look?: JobLook | undefined
  limit: number
  from?: string | undefined
}

/** Keys looked at in one step of Redis, and steps of one reading: there is no index of what ended, which would cost each job. */
const keysAtOnce = 500
const mostSteps = 40
/** Read at a time. */
const page = 50

/** What of a record is read: all but its result, which may be a megabyte. */
const fields = ['state', 'task', 'tries', 'error', 'enqueued', 'due', 'started', 'ended', 'worker']

/** Whether a text is a place of such a reading: where SCAN goes on, how many of that step were passed, and on which node of a Cluster. */
export const isEndedPlace = (text: string): boolean => /^\d{1,20}:\d{1,4}(:\d{1,4})?$/.test(text)

/** Tracked jobs that are done, expired or cancelled and are still kept, in no order. It looks at some 20,000 keys of Redis at the most. */
export const readEndedJobs = async (
  client: Redis,
  catalogue: Catalogue,
  keys: Keys,
  { queue = '*', task, text, look, limit, from = '0:0' }: EndedQuery,
): Promise<{ jobs: QueuedJob[]; next: string | undefined }> => {
  const pattern = keys.queue(queue).job('*')
  const servers = queue === '*' ? serversOf(client) : [near(client, keys.queue(queue).jobs)]
  let [cursor, passed, server = 0] = from.split(':') as [string, string | number, (string | number)?]
  const place = (count: string | number) =>
    Number(server) === 0 ? `${cursor}:${count}` : `${cursor}:${count}:${server}`
  const jobs: QueuedJob[] = []
  for (let step = 0; step < mostSteps; step++) {
    const scan = ['MATCH', pattern, 'COUNT', keysAtOnce, 'TYPE', 'hash']
    const [next, found] = (await command(servers[Number(server)] ?? client, 'scan', cursor, ...scan)) as [
      string,
      string[],
    ]
    const names = found.sort()
    for (let at = Number(passed); at < names.length; at += page) {
      const read = await Promise.all(names.slice(at, at + page).map(name => readOne(client, catalogue, keys, name)))
      for (const [index, job] of read.entries()) {
        if (jobs.length >= limit) return { jobs, next: place(at + index) }
        if (job && (!look || look.sees(job.task)) && matches(job, task, text)) jobs.push(job)
      }
    }
    cursor = next
    passed = 0
    if (next === '0') server = Number(server) + 1
    if (Number(server) >= servers.length) return { jobs, next: undefined }
  }
  return { jobs, next: place(0) }
}

const matches = ({ id, task, error }: QueuedJob, wanted: string | undefined, text: string | undefined): boolean =>
  (wanted === undefined || wanted === task) &&
  (text === undefined || holdsText(text, [id!, task, error?.code ?? '', error?.message ?? '']))

/** Undefined for one that has not ended, or is dead: it lies with the dead ones. */
const readOne = async (
  client: Redis,
  catalogue: Catalogue,
  keys: Keys,
  key: string,
): Promise<QueuedJob | undefined> => {
  const [, queue, id] = /\{([^{}]*)\}:job:([^:]*)$/.exec(key) ?? []
  if (!isQueueName(queue) || !isId(id) || keys.queue(queue).job(id) !== key) return undefined
  const values = await catalogue.ask<(string | null)[]>(client, [], 'hmget', key, ...fields)
  const flat = fields.flatMap((name, at) => (typeof values[at] === 'string' ? [name, values[at]] : []))
  const record = readJobRecord(flat, id, queue)
  if (!record || !hasEnded(record.status) || record.status.state === 'dead') return undefined
  return {
    ...record.status,
    from: undefined,
    priority: 'normal',
    key: undefined,
    payloads: undefined,
    deadMs: undefined,
  }
}

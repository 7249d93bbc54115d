import type { Catalogue } from '../../catalogue/catalogue.ts'
import { near, serversOf } from '../../redis/client.ts'
import type { Redis } from '../../redis/connection.ts'
import { KeyScan } from '../../redis/key-scan.ts'
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

/** Where a reading goes on. */
interface Place {
  cursor: string
  /** Which node of a Cluster. */
  server: number
  /** The keys that came before the cursor: see KeyScan. */
  memory: string
  /** The last job of this step that was looked at, as `queue/id`. Those of a step are read in this order. */
  after: string
}

const placeOf = (text: string): Place | undefined => {
  const [cursor = '', server = '', memory = '', after = '', ...more] = text.split(':')
  const [queue, id, ...rest] = after.split('/')
  const isJob = after === '' || (isQueueName(queue) && isId(id) && rest.length === 0)
  const isPlace = /^\d{1,20}$/.test(cursor) && /^\d{1,4}$/.test(server) && KeyScan.isMemory(memory)
  return isPlace && isJob && more.length === 0 ? { cursor, server: Number(server), memory, after } : undefined
}

/** Whether a text is a place of such a reading. */
export const isEndedPlace = (text: string): boolean => placeOf(text) !== undefined

/** Tracked jobs that are done, expired or cancelled and are still kept, in no order. It looks at some 20,000 keys of Redis at the most. */
export const readEndedJobs = async (
  client: Redis,
  catalogue: Catalogue,
  keys: Keys,
  { queue = '*', task, text, look, limit, from = '0:0::' }: EndedQuery,
): Promise<{ jobs: QueuedJob[]; next: string | undefined }> => {
  const words = ['MATCH', keys.queue(queue).job('*'), 'COUNT', keysAtOnce, 'TYPE', 'hash']
  const servers = queue === '*' ? serversOf(client) : [near(client, keys.queue(queue).jobs)]
  let { cursor, server, memory, after } = placeOf(from)!
  const scan = new KeyScan(memory)
  const jobs: QueuedJob[] = []
  for (let step = 0; step < mostSteps; step++) {
    memory = scan.memory
    const { keys: found, next } = await scan.step(servers[server] ?? client, cursor, ...words)
    const names = found
      .flatMap(name => nameIn(keys, name) ?? [])
      .filter(({ name }) => name > after)
      .sort((a, b) => (a.name < b.name ? -1 : 1))
    for (let at = 0; at < names.length; at += page) {
      const some = names.slice(at, at + page)
      const read = await Promise.all(some.map(name => readOne(client, catalogue, name)))
      for (const [index, job] of read.entries()) {
        if (jobs.length >= limit) return { jobs, next: `${cursor}:${server}:${memory}:${after}` }
        if (job && (!look || look.sees(job.task)) && matches(job, task, text)) jobs.push(job)
        after = some[index]!.name
      }
    }
    cursor = next
    after = ''
    if (next === '0') server++
    if (server >= servers.length) return { jobs, next: undefined }
  }
  return { jobs, next: `${cursor}:${server}:${scan.memory}:` }
}

const matches = ({ id, task, error }: QueuedJob, wanted: string | undefined, text: string | undefined): boolean =>
  (wanted === undefined || wanted === task) &&
  (text === undefined || holdsText(text, [id!, task, error?.code ?? '', error?.message ?? '']))

interface JobName {
  key: string
  queue: string
  id: string
  /** `queue/id`. */
  name: string
}

/** Of which job a key is the record; undefined for a key of somebody else. */
const nameIn = (keys: Keys, key: string): JobName | undefined => {
  const [, queue, id] = /\{([^{}]*)\}:job:([^:]*)$/.exec(key) ?? []
  if (!isQueueName(queue) || !isId(id) || keys.queue(queue).job(id) !== key) return undefined
  return { key, queue, id, name: `${queue}/${id}` }
}

/** Undefined for one that has not ended, or is dead: it lies with the dead ones. */
const readOne = async (
  client: Redis,
  catalogue: Catalogue,
  { key, queue, id }: JobName,
): Promise<QueuedJob | undefined> => {
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

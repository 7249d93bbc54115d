import type { Catalogue } from '../catalogue/catalogue.ts'
import type { JobQueue } from '../queue/job-queue.ts'
import type { Redis } from '../redis/connection.ts'
import { HubError } from '../wire/errors.ts'
import { numberIn } from '../wire/foreign.ts'
import { type JobFailure, readJobPart } from '../wire/job-part.ts'
import { makeKeys, type QueueKeys, wholeQueue } from '../wire/keys.ts'
import { decodeRequest } from '../wire/message.ts'
import { namesOf, refuseHubOptions } from '../wire/options.ts'
import { readAnyPayload } from '../wire/payload.ts'
import { type DeadJob, DeadJobs } from './dead.ts'
import type { JobHost } from './job.ts'

/** State of a key: `due`, next to run; `later`, scheduled; `empty`, nothing waits or runs. */
export type KeyState = 'running' | 'due' | 'later' | 'empty'

/** A key of jobs, with its waiting jobs or payloads. */
export interface KeyStatus {
  queue: string
  /** `name:version` */
  task: string
  key: string
  state: KeyState
  /** Since when it is due, or when it will be, Redis milliseconds; undefined if neither. */
  dueMs: number | undefined
  /** Its running job: token, worker, since when (Redis milliseconds), and id. */
  run: { fence: number; worker: string; sinceMs: number; id: string } | undefined
  /** How many jobs, or payloads, wait. */
  waiting: number
  /** The first hundred waiting payloads, for a task that merges its jobs. */
  payloads: { args: unknown; score: number }[]
  /** The first twenty waiting jobs. */
  jobs: { id: string; args: unknown; tries: number; enqueuedMs: number | undefined }[]
  /** How often its runs, or its first job, failed so far; and the last ten failures, oldest first. */
  tries: number
  errors: JobFailure[]
}

const mostPayloads = 100
const mostJobs = 20
const mostDead = 1000

/** What a key's place is read with. */
export interface KeyPlace {
  queue: string
  task: string
  key: string
}

/** Reads where a key is. Several reads, one behind the other: a look, and no snapshot. */
export const readKey = async (
  client: Redis,
  catalogue: Catalogue,
  keys: QueueKeys,
  namespace: string,
  { queue, task, key }: KeyPlace,
): Promise<KeyStatus> => {
  const { keysOf, later, running, tried, line, merged } = keys
  const ask = <T>(name: string, ...args: (string | number)[]) =>
    catalogue.ask<T>(client, undefined as T, name, args[0] as string, ...args.slice(1))
  const [due, laterMs, run, state, length, texts, count, flat] = await Promise.all([
    ask<string | null>('zscore', keysOf(task), key),
    ask<string | null>('zscore', later, `${task} ${key}`),
    ask<string | null>('hget', running(task), key),
    ask<string | null>('hget', tried(task), key),
    ask<number>('llen', line(task, key)),
    ask<string[]>('lrange', line(task, key), 0, mostJobs - 1),
    ask<number>('zcard', merged(task, key)),
    ask<string[]>('zrange', merged(task, key), 0, mostPayloads - 1, 'WITHSCORES'),
  ])
  const jobs = (texts ?? []).flatMap(text => readJob(text, namespace))
  const ran = readRun(run)
  const dueUs = numberIn(due)
  const { tries, errors } = failuresOf(state, jobs)
  return {
    ...{ queue, task, key },
    state: ran ? 'running' : dueUs !== undefined ? 'due' : laterMs == null ? 'empty' : 'later',
    dueMs: dueUs === undefined ? numberIn(laterMs) : Math.floor(dueUs / 1000),
    run: ran,
    waiting: (length ?? 0) + (count ?? 0),
    payloads: payloadsOf(flat ?? []),
    jobs: jobs.map(({ errors: _, ...job }) => job),
    tries,
    errors,
  }
}

/** `<fence> <worker> <job id>`; a token is the time of its run, or follows that closely. */
const readRun = (text: string | null | undefined): KeyStatus['run'] => {
  const [, fence, worker, id] = /^(\d{1,16}) ([\w-]+) ([\w-]+)$/.exec(text ?? '') ?? []
  if (fence === undefined) return undefined
  return { fence: Number(fence), worker: worker!, sinceMs: Math.floor(Number(fence) / 1000), id: id! }
}

type LinedJob = KeyStatus['jobs'][number] & { errors: JobFailure[] }

const readJob = (text: string, namespace: string): LinedJob[] => {
  try {
    const { id, args, atUs, job } = decodeRequest(text, '', namespace)
    const enqueuedMs = atUs === undefined ? undefined : Math.floor(atUs / 1000)
    return [{ id, args, tries: job?.tries ?? 0, enqueuedMs, errors: job?.errors ?? [] }]
  } catch {
    return []
  }
}

/** Of merged jobs the key itself has failed; in a line its first job. */
const failuresOf = (state: string | null | undefined, [first]: LinedJob[]): Pick<KeyStatus, 'tries' | 'errors'> => {
  try {
    if (state) return readJobPart(JSON.parse(state))
  } catch {
    // Somebody else's: as good as none.
  }
  return { tries: first?.tries ?? 0, errors: first?.errors ?? [] }
}

const payloadsOf = (flat: readonly string[]): KeyStatus['payloads'] =>
  flat.flatMap((text, at) => (at % 2 === 0 ? [{ args: readAnyPayload(text), score: Number(flat[at + 1]) }] : []))

/** Which job or payload to skip. */
export interface SkipOptions {
  id?: string | undefined
  score?: number | undefined
}

const skipNames = namesOf<SkipOptions>({ id: true, score: true })

/** A key of the jobs of one task. */
export class JobKey {
  readonly queue: string
  /** `name:version` */
  readonly task: string
  readonly key: string
  /** Its task is declared without keys: only jobs from before that are here. */
  readonly isKeyless: boolean
  readonly #host: JobHost
  readonly #jobQueue: JobQueue
  readonly #dead: DeadJobs
  readonly #read: (client: Redis, place: KeyPlace) => Promise<KeyStatus>

  constructor(
    host: JobHost,
    jobQueue: JobQueue,
    { task, key, isKeyless }: Omit<KeyPlace, 'queue'> & { isKeyless: boolean },
    namespace: string,
    read: (client: Redis, place: KeyPlace) => Promise<KeyStatus>,
  ) {
    this.queue = jobQueue.name
    this.task = task
    this.key = key
    this.isKeyless = isKeyless
    this.#host = host
    this.#jobQueue = jobQueue
    this.#dead = new DeadJobs(host, wholeQueue(jobQueue.name), makeKeys(namespace))
    this.#read = read
  }

  /**
   * The state of the key, what waits for it, and its failures.
   *
   * @throws HubError NotEnqueued when Redis is unreachable, HubClosed
   */
  status(): Promise<KeyStatus> {
    return this.#host.ask(client => this.#read(client, this))
  }

  /**
   * Makes the waiting jobs due: they run as soon as a slot is idle. A running job keeps running.
   *
   * @returns how many jobs, or payloads, wait
   * @throws as status()
   */
  runNow(): Promise<number> {
    return this.#act('run')
  }

  /**
   * Skips the first job, or the payload with the lowest score: it becomes dead, and the next one is due. Pass the one
   * you mean, from status(), so that repeating a skip with an unknown outcome does not skip another one.
   *
   * @param what the `id` of the job, or the `score` of the payload; default: the first
   * @returns whether it was found and skipped
   * @throws HubError InvalidArgs while the key runs, and for a job that a batch of another queue waits for; else as
   *   status()
   */
  async skip(what: SkipOptions = {}): Promise<boolean> {
    refuseHubOptions('skip', what, skipNames)
    const count = await this.#act('skip', String(what.id ?? what.score ?? ''))
    const nothing = `${this.task}, key ${JSON.stringify(this.key)}: nothing is skipped`
    if (count === -1)
      throw new HubError('InvalidArgs', `${nothing}, because it is running now. Wait until the run ends.`)
    if (count === -2)
      throw new HubError(
        'InvalidArgs',
        `${nothing}, because a batch of another queue waits for its first job. Cancel that job.`,
      )
    return count > 0
  }

  /**
   * Deletes the waiting payloads of a task that merges its jobs. To cancel ordered jobs, use `hub.cancelJob`.
   *
   * @returns how many
   * @throws as status()
   */
  delete(): Promise<number> {
    return this.#act('delete')
  }

  /** Its latest dead jobs, or payloads, at most a thousand. Throws as status(). */
  dead(): Promise<DeadJob[]> {
    return this.#dead.list({ task: this.task, key: this.key }, mostDead)
  }

  /** Retries its dead jobs, or payloads. Returns how many. Throws as status(). */
  retryDead(): Promise<number> {
    return this.#dead.retry({ task: this.task, key: this.key })
  }

  #act(act: 'run' | 'skip' | 'delete', named = ''): Promise<number> {
    return this.#host.change(client => this.#jobQueue.actOnKey(client, this.task, this.key, act, named))
  }
}

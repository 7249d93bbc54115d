/** What the service tells its pages, and nothing else: both sides are checked against these types. */
import type {
  Environment,
  ErrorCode,
  FailureOverview,
  JsonSchema,
  Load,
  OwnCode,
  Problem,
  QueueOverview,
  RedisMemory,
  SlowCallOverview,
  TaskCaller,
  TaskOverview,
  TaskQueue,
  UnansweredOverview,
  UnreadableRecord,
  WorkerOverview,
  WorkerTask,
} from 'pshub'

/** What somebody may do: look; run and enqueue tasks too; change queues, jobs and schedules too. Each includes the ones before. */
export const roles = ['view', 'run', 'admin'] as const
export type Role = (typeof roles)[number]

/** GET api/session: who looks, and at what. */
export interface Session {
  role: Role
  /** True: nobody may run or change anything here, whatever the role. */
  readOnly: boolean
  namespace: string
  version: string
  /** Who it is, where a proxy or a provider said it. */
  user?: string
  /** Who said it. What a proxy says lasts as long as it says so: nobody logs out here. */
  by?: 'proxy' | 'provider'
  /** What is worked on here, where the service was told. */
  environment?: Environment
}

/** Answer of every request that failed: `application/problem+json`, RFC 9457. The members of calls are as of `pshub/http`. */
export interface ApiError {
  /** `urn:problem-type:pshub:<code>`; none of a code of the worker's own, nor of what the registry itself refuses. */
  type?: string
  /** What the code means. */
  title: string
  status: number
  /** What is the matter this time. */
  detail: string
  code:
    | ErrorCode
    | OwnCode
    | 'Unauthorized'
    | 'Forbidden'
    | 'NotFound'
    | 'BadRequest'
    | 'WrongHost'
    | 'UnsupportedMediaType'
    | 'TooManyRequests'
    | 'Unavailable'
    | 'Internal'
  retryable?: boolean
  ran?: 'no' | 'maybe' | 'yes'
  task?: string
  id?: string
  /** `problems` name offending fields of arguments. */
  data?: { problems?: Problem[] } | unknown
}

export interface TaskRow {
  /** `name:version` */
  task: string
  name: string
  version: string
  queue: string
  /** First line of its description. */
  summary: string
  /** Live workers that provide it. */
  workers: number
  /** Nobody provides it any more, and nobody is missed. */
  retired: boolean
  /** Hosts they run on. */
  hosts: number
  /** All queues that have it; nearly always one. */
  queues: TaskQueue[]
  /** Live workers declare it with different schemas. */
  conflict: boolean
  idempotent: boolean
  /** Why running it by mistake does harm; true: nobody said why; absent: it does none. */
  dangerous?: string | true
  /** Each of its jobs is given a key; `merged` ones cannot be called. */
  keyed: TaskOverview['keyed']
  timeoutMs: number
  load: Load
  /** Calls per second of the last 15 minutes, oldest first; null where nothing is known. */
  trend: (number | null)[]
}

export type WorkerRow = Omit<WorkerOverview, 'totals' | 'jobs'>

export interface QueueRow extends QueueOverview {
  /** How long the backlog takes to drain at the present rate, milliseconds; undefined where that is not known. */
  drainMs: number | undefined
  /** Backlog of the last 15 minutes, oldest first; null where nothing is known. */
  trend: (number | null)[]
  /** How many jobs were dead 15 minutes ago, or when this service began to look; undefined when it has just begun. */
  deadBefore: number | undefined
}

/** Health in one glance. */
export interface Summary {
  tasks: number
  /** Tasks that no live worker provides, though one should: it died. */
  unserved: number
  conflicts: number
  /** Tasks that live workers of more than one queue provide. */
  doubled: number
  workers: number
  draining: number
  /** Workers whose lease ended. */
  lost: number
  queues: number
  paused: number
  backlog: number
  /** Milliseconds the oldest request of all queues has waited. */
  oldestMs: number | undefined
  /** Milliseconds the oldest job of all queues has waited that is due. */
  oldestJobMs: number | undefined
  jobs: number
  /** Jobs that wait for their time, and for their next try. */
  scheduled: number
  retrying: number
  dead: number
  busy: number
  slots: number
  load: Load
  memory: RedisMemory | undefined
  /** What is in Redis and cannot be read; it counts as absent. The first hundred of it. */
  unreadable: UnreadableRecord[]
}

/** One task: all that its page shows besides the charts. */
export interface TaskDetail extends Pick<TaskVersion, 'description' | 'args' | 'result'> {
  row: TaskRow
  /** Redis' milliseconds of the last time a worker published it; 0 when it is not known. */
  registeredMs: number
  /** Its handler yields: the schema of each chunk, or true where there is none that can be used; undefined: nobody knows of any. */
  yields: JsonSchema | true | undefined
  /** Why the arguments' schema is not used for a form and checks, undefined when it is. */
  unusable: string | undefined
  /** False: the service's `runTasks` leaves it out, so nobody may run it from here. */
  runnable?: boolean
  /** All versions of this name with their schemas, newest first; this one is among them. */
  versions: TaskVersion[]
  /** Ids of live workers that provide it. */
  providers: string[]
  slow: SlowCallOverview[]
  /** Calls and jobs of the last hour that did not end well, newest first: a hundred at most, as of `slow` and `unanswered`. */
  failures: FailureOverview[]
  /** What hubs rejected in the last hour, or had no answer to, by code and hub, the latest first. */
  unanswered: UnansweredOverview[]
  /** Services that call it, busiest first. */
  callers: TaskCaller[]
}

/** GET api/workers/<id>: all that the page of one worker shows. */
export interface WorkerDetail {
  row: WorkerRow
  /** What it provides, by name; one whose lease ended has no load, and a task that it did nothing of has no figures. */
  tasks: WorkerTaskRow[]
  /** Other workers of its process: in other queues or shards, or what it became when its lease had ended. */
  others: Pick<WorkerRow, 'id' | 'queue' | 'live'>[]
  /** A hundred at most, as of `failures`. */
  slow: SlowCallOverview[]
  /** Newest first. */
  failures: FailureOverview[]
}

export interface WorkerTaskRow extends Partial<WorkerTask> {
  task: string
}

/** POST api/queues/<queue>/pause or /resume, with {}: since when it is paused, Redis milliseconds; absent: it is served. */
export interface PauseAnswer {
  queue: string
  pausedMs?: number
}

export interface TaskVersion {
  task: string
  version: string
  workers: number
  description: string
  timeoutMs: number
  idempotent: boolean
  dangerous?: string | true
  args: JsonSchema | undefined
  result: JsonSchema | undefined
}

/** What changed among rows since the last reading of one stream. The first one is full. */
export interface Delta<Row> {
  full: boolean
  rows: Row[]
  /** Keys of rows that are gone: a task's name, a worker's id, a queue's name. */
  gone: string[]
}

/** GET api/live?topics=...: one message of the stream, an event named `reading`. */
export interface LiveReading {
  /** When it was read, milliseconds of Redis' clock. */
  atMs: number
  /** How long the reading took. */
  tookMs: number
  summary?: Summary
  tasks?: Delta<TaskRow>
  workers?: Delta<WorkerRow>
  queues?: Delta<QueueRow>
  /** What every page shows at its top meanwhile: `pshub dev` says there that a task file does not load. */
  notice?: string
}

/** What a page can ask a stream for; joined by commas. */
export const topics = ['summary', 'tasks', 'workers', 'queues'] as const
export type Topic = (typeof topics)[number]

/** The same stream, an event named `problem`: the reading failed, because Redis is away for example. */
export interface LiveProblem {
  message: string
}

/**
 * GET api/failures, api/unanswered and api/slow, with task=, code=, text= (words, all of them somewhere in the row), phase=backlog|queue|exec
 * (where most of the time went, of slow calls alone) and limit= (1,000 at most): what workers and hubs of all tasks tell.
 */
export interface CallList<Call> {
  /** The first of those that fit: failures and unanswered calls newest first, slow calls slowest first. */
  calls: Call[]
  /** How many of them fit; more than `calls` has when the limit left some out. */
  fitting: number
  /** How many calls all of them are of, whether they fit or not: what a hub tells is of many. Of very many the first 10,000 are looked at, and the first 20 of each task. */
  total: number
  /** Tasks and codes of all there are, to choose from: a thousand at most. */
  tasks: string[]
  codes: string[]
}

/** Parts of the time of a call, in their order. */
export const callPhases = ['backlog', 'queue', 'exec'] as const
export type CallPhase = (typeof callPhases)[number]

/** In which phase a call spent most of its time; of equal ones the first. */
export const longestPhase = ({ us }: Pick<SlowCallOverview, 'us'>): CallPhase =>
  callPhases.reduce((longest, phase) => (us[phase] > us[longest] ? phase : longest))

/** Rows of such a list at the most. */
export const mostCalls = 1000

/** GET api/history?range=15m|1h|1d|30d and optionally queue= or task=. One value per step; null where nothing is known. */
export interface History {
  /** Start of the first step, milliseconds since 1970. */
  fromMs: number
  stepMs: number
  series: Record<HistorySeries, (number | null)[]>
  /** What was put to work meanwhile, oldest first: the latest hundred. */
  deploys: Deploy[]
}

/**
 * `task`: it, or this version of it, was not there before; `schema`: it is declared otherwise; `client`: of the client library; `build`: of the
 * users' own program, as its workers were told it.
 */
export const deployKinds = ['task', 'schema', 'client', 'build'] as const

/** Something new that live workers have. */
export interface Deploy {
  atMs: number
  kind: (typeof deployKinds)[number]
  /** `name:version` of the task, the client library with its version, or the build. */
  what: string
  queue: string
}

export const historySeries = [
  'backlog',
  'oldestMs',
  'jobs',
  'oldestJobMs',
  'dead',
  'callsPerSecond',
  'errorRate',
  'busyShare',
  'backlogP95Us',
  'execP50Us',
  'execP95Us',
] as const
export type HistorySeries = (typeof historySeries)[number]

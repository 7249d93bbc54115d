/** What the service tells its pages of jobs and schedules, as contract.ts has it of all else. */
import type { BulkAction, BulkStep, JobDetails, JobsListing, KeyStatus, ListedState, Schedule, Template } from 'pshub'

/** Where jobs are, as GET api/jobs lists them: state=, and optionally queue= task= key= text= from= limit=. */
export const jobStates = [
  'waiting',
  'running',
  'scheduled',
  'retrying',
  'dead',
  'done',
] as const satisfies readonly ListedState[]
export type JobPage = JobsListing

/** GET api/jobs/<id>, optionally with queue= state= at=: where it was seen, which one that is not tracked needs. */
export interface JobDetail extends Omit<JobDetails, 'argsText'> {
  /** Its arguments as JSON; where `args` alone would not say it, because numbers in them are rounded by most who read them. */
  argsText?: string | undefined
  /** What of it is hidden, where anything is: `<secret>` stands in its place. POST api/jobs/<id>/reveal, with a JobPlaceRequest, shows it. */
  hidden?: { args: boolean; result: boolean }
}

/** How the job is to be run; what is not said is as the task says. */
export interface EnqueueChoices {
  queue?: string
  delayMs?: number
  /** Milliseconds since 1970, in the place of delayMs. */
  atMs?: number
  retries?: number
  /** Of a task whose jobs have keys. */
  key?: string
  /** Of a merged task. */
  score?: number
  priority?: 'high' | 'normal' | 'low'
  expiresMs?: number
  /** True: of those with the same arguments; a text: of those with this id. */
  unique?: boolean | string
  tracked?: boolean
  keepResultMs?: number
}

export interface EnqueueAnswer {
  id: string
  queue: string
  task: string
  /** It was there already: nothing was enqueued. */
  isTwin: boolean
}

/** POST api/jobs/<id>/delete, of a dead job, /cancel, /run (of one that waits for its time or its next try) and /cancel-chain. */
export interface JobPlaceRequest {
  queue?: string
  state?: JobState
  /** When it is due or was given up, of one that lies by time. */
  atMs?: number
}
export type JobState = Exclude<ListedState, 'done'>

/** What became of one job. False: it was gone, or had ended. */
export interface JobChange {
  id: string
  changed: boolean
}

/** The answer to GET api/jobs-matching, which counts, and to POST api/jobs-matching/<action>: one bounded step, and where the next starts. */
export type MatchingStep = BulkStep
export type MatchingAction = BulkAction

/** JSON that may be very long: its beginning, and how many characters it has. */
export interface KeyText {
  json: string
  length: number
}

/** GET api/keys?task=&key=, optionally with queue=: where a key of a task's jobs is, and what waits of it. */
export interface KeyDetail extends Omit<KeyStatus, 'payloads' | 'jobs'> {
  payloads: { args: KeyText; score: number }[]
  jobs: (Omit<KeyStatus['jobs'][number], 'args'> & { args: KeyText })[]
}

/** GET api/keys/dead, in the same way: the latest hundred, and how many there are, up to a thousand. */
export interface DeadOfKey {
  jobs: {
    id: string
    /** When it was given up, Redis milliseconds. */
    atMs: number
    tries: number
    score: number | undefined
    /** How it failed last. */
    error: KeyStatus['errors'][number] | undefined
    args: KeyText
  }[]
  count: number
}

/** The answer to POST api/keys/run, /skip, /delete and /retry. */
export interface KeyChange {
  queue: string
  task: string
  key: string
  /** How many are due, skipped, deleted or put back. */
  changed: number
  /** Of /delete of a line: those that a batch waits for. */
  skipped?: number
  /** Of /delete: there is more, from there. */
  next?: string
}

/** GET api/schedules. */
export type ScheduleRow = Schedule

/** POST api/schedules: written, in the place of one of the same name. */
export interface ScheduleRequest {
  name: string
  cron: string
  timezone?: string
  missed?: 'once' | 'skip'
  task: string
  args?: unknown
  queue?: string
  /** Of a task whose jobs have keys. */
  key?: string
}

/** POST api/schedules/<queue>/<name>/pause, /resume, /run or /remove, with {}. */
export interface ScheduleChange {
  name: string
  queue: string
  /** The job that was enqueued by /run, or the twin of a unique one that waits already. */
  job?: string
  isTwin?: boolean
}

/** As many templates a task can have. */
export const mostTemplates = 20

/** GET api/templates/<task>: arguments that somebody gave a name. */
export interface TemplateList {
  templates: Template[]
  most: number
}

/** POST api/templates/<task> with name, args and isWhole, and api/template-removal/<task> with name. */
export interface TemplateChange {
  task: string
  name: string
  changed: boolean
}

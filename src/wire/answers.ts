/** What the functions answer, and how their answers are read. The shapes are part of PROTOCOL.md. */

/** What the push function made of a batch. */
export interface Pushed {
  /** How many of the batch, from its beginning, are in the list. */
  accepted: number
  /** Requests that were waiting before these. */
  length: number
  /** Redis microseconds, the `at` of all accepted requests, as text. */
  at: string
  /** True when an earlier try of the same push had arrived after all; this one did nothing. */
  repeated: boolean
  /** What was taken off each ttl because the push was so long on its way; at least 1 ms is left of it. */
  lateMs: number
}

export interface Claimed {
  /** Redis microseconds at the claim. */
  nowUs: number
  /** Calls that still wait. */
  left: number
  /** Jobs that still wait; 0 when the claim was not for jobs. */
  jobsLeft: number
  /** Requests dropped because their deadline had passed. */
  expired: number
  /** Calls first, then jobs. */
  requests: ClaimedRequest[]
}

export interface ClaimedRequest {
  text: string
  /** The id made up for it; undefined: the one in the message. */
  madeUpId: string | undefined
  isJob: boolean
  /** Its arguments lie beside it. */
  isApart?: true
  /** These, as JSON, once they were fetched; undefined where they are not there any more. */
  argsBeside?: string | undefined
}

export interface Beat {
  nowUs: number
  held: boolean
  /** Requests whose callers gave up in the last seconds. */
  cancelled: string[]
  /** Other workers of the queue whose leases have ended. */
  ended: string[]
  /** Undefined unless this worker is the one that reports the queue. */
  figures: QueueFigures | undefined
  /** Since when the queue is paused, Redis milliseconds; undefined when it is served. */
  pausedMs: number | undefined
  /** When the first job is due, Redis milliseconds; undefined when none waits, or another worker looks after that. */
  dueMs: number | undefined
  /** The same of schedules. */
  tickMs: number | undefined
  /** Somebody wants to know what this worker is doing: where to tell it. */
  askedBy: string | undefined
  /** Over which shards the queue is spread, unread; undefined where it is not. */
  shards: string | undefined
}

/** Figures of a queue at one moment. */
export interface QueueFigures {
  /** Number of waiting requests. */
  length: number
  /** Wait of the first request; 0 if none waits, undefined if it has no time. */
  oldestMs: number | undefined
  jobs: {
    /** Number of waiting jobs. */
    waiting: number
    /** Time since the first waiting job was due; 0 if none waits, undefined if it has no time. */
    oldestMs: number | undefined
    /** Numbers of scheduled, retrying and dead jobs. */
    scheduled: number
    retrying: number
    dead: number
  }
  /** Figures of the keys of its jobs. */
  keys: KeyFigures
}

/** Keys of the jobs of a queue at one moment. */
export interface KeyFigures {
  /** Keys that are due or scheduled. */
  waiting: number
  running: number
  /** Time since the first due key was due; 0 if none is due. */
  lagMs: number
  /** Longest run of a key; 0 if none is running. */
  longestMs: number
}

/** A request with the id that it is held under. */
export interface HeldText {
  id: string
  text: string
}

/** What was taken over from a lost worker, and what became of it. */
export interface Adopted {
  /** True when nothing is left to take over. */
  done: boolean
  /** Held by this worker now, whose callers are to be told. */
  toAnswer: HeldText[]
  /** What went back to its list. */
  redelivered: HeldText[]
  /** Jobs that were given up. */
  dead: HeldText[]
  /** Who waits for these. */
  told: Told[]
  /** What is to be done in other queues, held by this worker now. */
  outs: HeldText[]
}

/** Somebody who waits for a job that has ended. */
export interface Told {
  /** The job's held id. */
  id: string
  /** What the answer is to be marked with. */
  ticket: string
  hubId: string
}

/** What the enqueue function made of a batch. */
export interface Enqueued {
  /** Redis microseconds, as text. */
  at: string
  /** True when an earlier try of the same batch had arrived after all; this one did nothing. */
  repeated: boolean
  /** Which of the batch, counted from 0, are not there because a job of the same uniqueness is, and the id of that one. */
  twins: ReadonlyMap<number, string>
}

/** What was moved of the jobs whose time had come. */
export interface Moved {
  nowUs: number
  count: number
  /** When the next one is due, Redis milliseconds; undefined when none waits. */
  dueMs: number | undefined
}

/** What became of settled jobs. */
export interface SettledJobs {
  /** Dead jobs that made room. */
  dropped: number
  /** Who waits for them. */
  told: Told[]
  /** What is to be done in other queues, held by this worker now. */
  outs: HeldText[]
}

export const readPushed = (answer: unknown): Pushed => {
  const [accepted, length, at, repeated = 0, lateMs = 0] = answer as [number, number, string, number?, number?]
  return { accepted, length, at, repeated: repeated === 1, lateMs }
}

type ClaimAnswer = [string, string[] | -1, number?, number?, (string | number)[]?, number?, number?, number[]?]

/** Undefined when the worker holds no lease. */
export const readClaimed = (answer: unknown): Claimed | undefined => {
  const [now, texts, left = 0, expired = 0, named = [], calls, jobsLeft = 0, apart = []] = answer as ClaimAnswer
  if (texts === -1) return undefined
  const requests: Claimed['requests'] = texts.map((text, index) => ({
    text,
    madeUpId: undefined,
    isJob: calls !== undefined && index >= calls,
  }))
  for (let i = 0; i < named.length; i += 2) requests[Number(named[i]) - 1]!.madeUpId = String(named[i + 1])
  for (const place of apart) requests[place - 1]!.isApart = true
  return { nowUs: Number(now), left, jobsLeft, expired, requests }
}

type JobCounts = [waiting: number, dueSince: string, scheduled: number, retrying: number, dead: number]
type KeyCounts = [dueSince: string, waiting: number, running: number, longestSince: string]
type BeatFigures = [] | [length: number, at: string, ...JobCounts, ...KeyCounts]
type BeatAnswer = [
  now: string,
  held: number,
  cancelled: string[],
  ended: string[],
  BeatFigures?,
  paused?: string,
  due?: string,
  tick?: string,
  askedBy?: string,
  shards?: string,
]

export const readBeat = (answer: unknown): Beat => {
  const [now, held, cancelled, ended, figures = [], paused, due, tick, askedBy, shards] = answer as BeatAnswer
  const nowUs = Number(now)
  const pausedMs = paused ? Number(paused) : undefined
  const moments = { pausedMs, dueMs: momentOf(due), tickMs: momentOf(tick), askedBy: askedBy || undefined, shards }
  return { nowUs, held: held === 1, cancelled, ended, figures: figuresOf(figures, nowUs), ...moments }
}

const figuresOf = (figures: BeatFigures, nowUs: number): QueueFigures | undefined => {
  const [length, at, waiting = 0, dueSince = '', scheduled = 0, retrying = 0, dead = 0] = figures
  const [keysDueSince = '', keysWaiting = 0, keysRunning = 0, longestSince = ''] = figures.slice(
    7,
  ) as Partial<KeyCounts>
  if (length === undefined) return undefined
  const ageMs = (since: string | undefined) => (since ? Math.max(0, nowUs - Number(since)) / 1000 : undefined)
  const isNoneDue = waiting === 0 && dueSince === ''
  return {
    length,
    oldestMs: length === 0 ? 0 : ageMs(at),
    jobs: { waiting, oldestMs: isNoneDue ? 0 : ageMs(dueSince), scheduled, retrying, dead },
    keys: {
      waiting: keysWaiting,
      running: keysRunning,
      lagMs: ageMs(keysDueSince) ?? 0,
      longestMs: ageMs(longestSince) ?? 0,
    },
  }
}

const momentOf = (text: string | undefined): number | undefined => (text ? Number(text) : undefined)

/** Undefined when there is nothing to adopt: the other worker lives, or this one has no lease itself. */
export const readAdopted = (answer: unknown): Adopted | undefined => {
  const [state, ...lists] = answer as [number, ...string[][]]
  if (state === -1) return undefined
  const [toAnswer = [], redelivered = [], dead = []] = lists.slice(0, 3).map(pairsOf)
  const told = threesOf(lists[3] ?? []).map(([id, ticket, hubId]) => ({ id, ticket, hubId }))
  return { done: state === 1, toAnswer, redelivered, dead, told, outs: pairsOf(lists[4] ?? []) }
}

export const readEnqueued = (answer: unknown): Enqueued => {
  const [at, repeated, ...twins] = answer as [string, number, ...(string | number)[]]
  const entries = twins.flatMap((index, place) =>
    place % 2 === 0 ? [[Number(index) - 1, String(twins[place + 1])] as const] : [],
  )
  return { at, repeated: repeated === 1, twins: new Map(entries) }
}

export const readMoved = (answer: unknown): Moved => {
  const [now, count, due] = answer as [string, number, string]
  return { nowUs: Number(now), count, dueMs: due === '' ? undefined : Number(due) }
}

/** `ids`: of the jobs that were settled, in their order. */
export const readSettledJobs = (answer: unknown, ids: readonly string[]): SettledJobs => {
  const [dropped, told, outs] = answer as [number, (string | number)[], string[]]
  const waiting = threesOf(told).map(([index, ticket, hubId]) => ({ id: ids[Number(index) - 1]!, ticket, hubId }))
  return { dropped, told: waiting, outs: pairsOf(outs) }
}

const threesOf = (flat: readonly (string | number)[]): [string, string, string][] =>
  flat.flatMap((first, at) =>
    at % 3 === 0 ? [[String(first), String(flat[at + 1]), String(flat[at + 2])] as [string, string, string]] : [],
  )

const pairsOf = (flat: string[]): HeldText[] =>
  flat.flatMap((id, at) => (at % 2 === 0 ? [{ id, text: flat[at + 1]! }] : []))

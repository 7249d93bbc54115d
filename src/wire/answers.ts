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
  /** Requests with the ids made up for them (undefined: the one in the message). Calls first, then jobs. */
  requests: { text: string; madeUpId: string | undefined; isJob: boolean }[]
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
}

/** A queue at one moment, as Redis has it. */
export interface QueueFigures {
  /** Requests that wait. */
  length: number
  /** How long the first of them has waited; 0 when none waits, undefined when it carries no time. */
  oldestMs: number | undefined
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
}

export const readPushed = (answer: unknown): Pushed => {
  const [accepted, length, at, repeated = 0, lateMs = 0] = answer as [number, number, string, number?, number?]
  return { accepted, length, at, repeated: repeated === 1, lateMs }
}

type ClaimAnswer = [string, string[] | -1, number?, number?, (string | number)[]?, number?, number?]

/** Undefined when the worker holds no lease. */
export const readClaimed = (answer: unknown): Claimed | undefined => {
  const [now, texts, left = 0, expired = 0, named = [], calls, jobsLeft = 0] = answer as ClaimAnswer
  if (texts === -1) return undefined
  const requests = texts.map((text, index) => ({
    text,
    madeUpId: undefined as string | undefined,
    isJob: calls !== undefined && index >= calls,
  }))
  for (let i = 0; i < named.length; i += 2) requests[Number(named[i]) - 1]!.madeUpId = String(named[i + 1])
  return { nowUs: Number(now), left, jobsLeft, expired, requests }
}

type BeatFigures = [] | [length: number, at: string]
type BeatAnswer = [now: string, held: number, cancelled: string[], ended: string[], BeatFigures?, paused?: string]

export const readBeat = (answer: unknown): Beat => {
  const [now, held, cancelled, ended, [length, at] = [], paused] = answer as BeatAnswer
  const nowUs = Number(now)
  const pausedMs = paused ? Number(paused) : undefined
  const oldestMs = length === 0 ? 0 : at ? Math.max(0, nowUs - Number(at)) / 1000 : undefined
  const figures = length === undefined ? undefined : { length, oldestMs }
  return { nowUs, held: held === 1, cancelled, ended, figures, pausedMs }
}

/** Undefined when there is nothing to adopt: the other worker lives, or this one has no lease itself. */
export const readAdopted = (answer: unknown): Adopted | undefined => {
  const [state, ...lists] = answer as [number, ...string[][]]
  if (state === -1) return undefined
  const [toAnswer = [], redelivered = [], dead = []] = lists.map(pairsOf)
  return { done: state === 1, toAnswer, redelivered, dead }
}

const pairsOf = (flat: string[]): HeldText[] =>
  flat.flatMap((id, at) => (at % 2 === 0 ? [{ id, text: flat[at + 1]! }] : []))

import type { JobEnd } from '../queue/job-queue.ts'
import type { Task } from '../task/task.ts'
import { PutOff, TaskError, type WireError } from '../wire/errors.ts'
import { failureText, type RunKey } from '../wire/job-part.ts'
import type { Request } from '../wire/message.ts'
import { defaultRetries, delayAfter } from './backoff.ts'
import { followingOf } from './chain.ts'
import { NotTaken } from './not-taken.ts'

/** How a job ended in a worker. */
export type JobOutcome = { ok: true; result: string } | { ok: false; error: WireError; thrown: unknown }

/** A job with such a failure would fail again however often it were tried. */
const hopeless: readonly string[] = ['InvalidArgs', 'PayloadTooLarge']
/** It never began, whatever its own retries are: its worker may be restarting, or be deployed in a minute. */
const unbegun: readonly string[] = ['NoSuchTask', 'NoWorkers']

/** Whether something waits for the end of a job, so that it is not enough to forget it. */
const isAwaited = ({ job, then }: Request): boolean =>
  then !== undefined ||
  job?.keep !== undefined ||
  job?.unique !== undefined ||
  job?.batch !== undefined ||
  // Or the next one of its key.
  job?.key !== undefined

/** What becomes of a job that ran, or could not; undefined when it is done and nothing is left to do but to forget it. */
export const endOf = (
  request: Request,
  task: Pick<Task, 'retries' | 'backoff' | 'onFailure'> | undefined,
  outcome: JobOutcome,
  wasCancelled: boolean,
  queue: string,
): JobEnd | undefined => {
  const { heldId: id, job } = request
  if (job?.run) return endOfRun(id, job.run, task, outcome)
  if (outcome.ok) {
    const { result } = outcome
    if (!isAwaited(request)) return undefined
    return { id, outcome: 'done', delayMs: 0, text: result, following: followingOf(request, result, queue) }
  }
  if (wasCancelled) return unrun(id, 'cancelled')
  const { error, thrown } = outcome
  if (thrown instanceof PutOff) return { id, outcome: 'putoff', delayMs: thrown.delayMs, text: '', following: '' }
  const text = failureText(error)
  const failures = (job?.tries ?? 0) + 1
  const isFinal = hopeless.includes(error.code) || (thrown instanceof TaskError && thrown.isFinal)
  const isUnbegun = unbegun.includes(error.code)
  const retries = isUnbegun ? defaultRetries : (job?.retries ?? task?.retries ?? defaultRetries)
  if (isFinal || failures > retries) return { id, outcome: 'dead', delayMs: 0, text, following: '' }
  if (isUnbegun) return { id, outcome: 'retry', delayMs: delayAfter('exponential', failures), text, following: '' }
  const backoffMs = delayOf(job?.backoff ?? task?.backoff, thrown, failures)
  if (backoffMs === undefined) return { id, outcome: 'dead', delayMs: 0, text, following: '' }
  const delayMs = thrown instanceof NotTaken ? Math.max(backoffMs, thrown.retryAfterMs) : backoffMs
  const passes = job?.key !== undefined && task?.onFailure === 'pass'
  return { id, outcome: passes ? 'pass' : 'retry', delayMs, text, following: '' }
}

/** What becomes of a run of merged jobs: its keys failed as often as each of them says. */
const endOfRun = (
  id: string,
  keys: readonly RunKey[],
  task: Pick<Task, 'retries' | 'backoff'> | undefined,
  outcome: JobOutcome,
): JobEnd => {
  const ended = { id, delayMs: 0, keys: keys.length, following: '' }
  if (outcome.ok) return { ...ended, outcome: 'done', text: '' }
  const { error, thrown } = outcome
  const isFinal = hopeless.includes(error.code) || (thrown instanceof TaskError && thrown.isFinal)
  const wordOf = ({ tries }: RunKey): string => {
    if (thrown instanceof PutOff) return `b${Math.round(thrown.delayMs)}`
    if (isFinal || tries + 1 > (task?.retries ?? defaultRetries)) return 'd1'
    const delayMs = delayOf(task?.backoff ?? 'polynomial', thrown, tries + 1)
    return delayMs === undefined ? 'd1' : `r${Math.round(delayMs)}`
  }
  return { ...ended, outcome: 'retry', words: keys.map(wordOf), text: failureText(error) }
}

/** What became of a job that did not end well: one, or one for each key of a run. */
export const failuresOf = (
  { job }: Request,
  { outcome, delayMs, words }: JobEnd,
): { how: 'retry' | 'dead' | 'putoff'; delayMs: number; tries: number }[] => {
  if (!words) {
    if (outcome === 'dead' || outcome === 'putoff') return [{ how: outcome, delayMs, tries: job?.tries ?? 0 }]
    return outcome === 'retry' || outcome === 'pass' ? [{ how: 'retry', delayMs, tries: job?.tries ?? 0 }] : []
  }
  const ways = { r: 'retry', d: 'dead', x: 'dead', b: 'putoff' } as const
  return words.map((word, at) => {
    return {
      how: ways[word[0] as keyof typeof ways],
      delayMs: Number(word.slice(1)),
      tries: job?.run?.[at]?.tries ?? 0,
    }
  })
}

export const isPutOff = (end: JobEnd | undefined): boolean =>
  end?.outcome === 'putoff' || (end?.words?.every(word => word.startsWith('b')) ?? false)

/** Whether it is to be run again. */
export const comesBack = ({ outcome }: JobEnd): boolean =>
  outcome === 'retry' || outcome === 'pass' || outcome === 'putoff'

/** The end of a job that was not run, or not to its end. */
export const unrun = (id: string, outcome: 'expired' | 'cancelled'): JobEnd => ({
  id,
  outcome,
  delayMs: 0,
  text: '',
  following: '',
})

/** Undefined: not again. */
const delayOf = (backoff: Task['backoff'], thrown: unknown, failures: number): number | undefined => {
  if (typeof backoff !== 'function') return delayAfter(backoff ?? 'exponential', failures)
  try {
    const ms = backoff(thrown, failures)
    if (ms === undefined) return undefined
    if (Number.isFinite(ms) && ms >= 0) return ms
  } catch {
    // A job must not be lost by it.
  }
  return delayAfter('exponential', failures)
}

/** What somebody is told who waits for a job that ended so. */
export const answerOf = ({ outcome, text }: JobEnd, ticket: string, worker: string): string => {
  const said = outcome === 'done' ? `"ok":true,"result":${text}` : `"ok":false,"error":${errorOf(outcome, text)}`
  return `{"id":"${ticket}",${said},"worker":"${worker}"}`
}

const errorOf = (outcome: JobEnd['outcome'], text: string): string => {
  if (outcome === 'dead') return `{${text}}`
  if (outcome === 'cancelled') return JSON.stringify({ code: 'Aborted', message: 'The job was cancelled.' })
  return JSON.stringify({ code: 'Expired', message: 'The job expired before it ran.' })
}

import type { FailureOverview, SlowCallOverview } from '../catalogue/call-lists.ts'
import type { JobFailure } from '../wire/job-part.ts'
import { formatMs } from './figures.ts'
import { ago } from './jobs.ts'

/** One try of a call or job, with what each of three places says of it: the job itself, and the worker's failures and slow calls. */
export interface Try {
  /** When it ended, Redis milliseconds. */
  atMs: number
  told?: Pick<JobFailure, 'code' | 'message'> | undefined
  failure?: FailureOverview | undefined
  slow?: SlowCallOverview | undefined
}

/** The worker notes when the handler ended; the job's failure has the time of the settle, which may wait for Redis. */
const settledWithinMs = 10_000
const clocksApartMs = 1000

/** All that are known, oldest first. */
export const triesOf = (
  errors: readonly JobFailure[],
  failures: readonly FailureOverview[],
  slow: readonly SlowCallOverview[],
): Try[] => {
  const tries = new Map<string, Try>()
  for (const failure of failures) tries.set(keyOf(failure), { atMs: failure.at / 1000, failure })
  for (const call of slow) tries.set(keyOf(call), { ...tries.get(keyOf(call)), atMs: call.at / 1000, slow: call })
  const known = [...tries.values()].sort((a, b) => a.atMs - b.atMs)
  const further: Try[] = []
  for (const error of errors) {
    const own = known.find(each => each.told === undefined && isOf(each, error))
    if (own) own.told = error
    else further.push({ atMs: error.at, told: error })
  }
  return [...known, ...further].sort((a, b) => a.atMs - b.atMs)
}

/** A worker gives both of its lists the same time. */
const keyOf = ({ at, worker }: { at: number; worker: string }): string => `${at} ${worker}`

const isOf = ({ atMs, failure, slow }: Try, { at, code, message }: JobFailure): boolean => {
  const lateMs = at - atMs
  if (lateMs < -clocksApartMs || lateMs > settledWithinMs) return false
  return failure ? failure.code === code && message.startsWith(failure.message) : slow?.code === code
}

/** As one line: its title, and what is known of it. */
export const tryLine = ({ atMs, told, failure, slow }: Try, nowMs: number): [title: string, text: string] => {
  const { code, message } = { code: slow?.code, message: undefined, ...failure, ...told }
  const where = failure ?? slow
  const place = where ? ` on ${where.host}/${where.pid} of queue ${where.queue}` : ''
  const took = slow?.totalUs ?? failure?.execUs
  const after = took === undefined ? '' : `, after ${formatMs(took)} ms`
  const phases = slow ? ` (${phasesOf(slow)})` : ''
  const how = code === undefined ? '' : `: ${code}${message ? `: ${message}` : ''}`
  return [code === undefined ? 'succeeded' : 'failed', `${ago(nowMs, atMs)}${place}${after}${phases}${how}`]
}

const phasesOf = ({ us, loopMs }: SlowCallOverview): string => {
  const phases = `backlog ${formatMs(us.backlog)} ms, queue ${formatMs(us.queue)} ms, exec ${formatMs(us.exec)} ms`
  return loopMs > 0 ? `${phases}; the event loop was blocked for ${loopMs} ms` : phases
}

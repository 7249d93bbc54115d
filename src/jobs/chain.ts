import { isCount, isObject } from '../wire/foreign.ts'
import { type JobPart, jobPartText, readJobPart } from '../wire/job-part.ts'
import { isId, isQueueName } from '../wire/keys.ts'
import { jobBody, type Request, requestTail, unstamped } from '../wire/message.ts'

/**
 * A step of a chain that has not come yet, as it travels in the messages of those before it. Its arguments are a text, so that nobody on
 * the way decodes and encodes them again.
 */
export interface Step {
  id: string
  task: string
  queue: string
  /** JSON. */
  args: string
  /** What it carries as a job. */
  job: Partial<JobPart> | undefined
  ttlMs: number
  /** The field of its arguments that gets the result of the step before it. */
  pass: string | undefined
}

const maxTask = 128

/** `then` of a message. */
const stepsText = (steps: readonly Step[]): string =>
  JSON.stringify(
    steps.map(({ id, task, queue, args, job, ttlMs, pass }) => ({
      id,
      task,
      queue,
      args,
      ...(job ? { job } : {}),
      ...(ttlMs > 0 ? { ttl: ttlMs } : {}),
      ...(pass === undefined ? {} : { pass }),
    })),
  )

/** The steps behind a job; none where others wrote what cannot be read. */
const readThen = (value: unknown): Step[] => {
  if (!Array.isArray(value)) return []
  const steps: Step[] = []
  for (const step of value) {
    if (!isObject(step)) return []
    const { id, task, queue, args, job, ttl, pass } = step
    if (!isId(id) || !isQueueName(queue) || typeof args !== 'string') return []
    if (typeof task !== 'string' || task.length > maxTask) return []
    steps.push({
      id,
      task,
      queue,
      args,
      job: job === undefined ? undefined : readJobPart(job),
      ttlMs: isCount(ttl) ? ttl : 0,
      pass: typeof pass === 'string' ? pass : undefined,
    })
  }
  return steps
}

/** The first of some steps as a message without its `at`; the others travel in it. */
export const stepMessage = (
  [{ id, task, args, job, ttlMs }, ...others]: readonly [Step, ...Step[]],
  { from, traceparent, tracestate }: Pick<Request, 'from' | 'traceparent' | 'tracestate'>,
): string => {
  // What is merged has neither a caller nor a trace of its own: nothing is behind its arguments.
  const tail = job?.merged ? '}' : requestTail(undefined, from, { traceparent, tracestate })
  const then = others.length === 0 ? '' : `,"then":${stepsText(others)}`
  return unstamped(ttlMs, jobBody(id, job && jobPartText(job), task, args, then + tail))
}

/**
 * What follows a job that is done, as the settle function takes it; empty when nothing does.
 * @param result its result, as JSON
 */
export const followingOf = (request: Request, result: string, ownQueue: string): string => {
  const [next, ...others] = readThen(request.then)
  if (!next) return ''
  const step = next.pass === undefined ? next : { ...next, args: withField(next.args, next.pass, result) }
  const message = stepMessage([step, ...others], request)
  return next.queue === ownQueue ? message : `${next.queue} ${message}`
}

/** Spliced in as text: neither is decoded and encoded again. A field of that name that is there already comes behind it, and counts. */
const withField = (args: string, field: string, value: string): string => {
  const inner = /^\s*\{\s*/.exec(args)
  if (!inner) return args
  const rest = args.slice(inner[0].length)
  return `{${JSON.stringify(field)}:${value}${rest.startsWith('}') ? '' : ','}${rest}`
}

import { errorTable, kindOf, type WireError } from './errors.ts'
import { type JobPart, readJobPart } from './job-part.ts'
import { stringifyExact } from './json/exact-json.ts'
import { PayloadProblem } from './json/json-value.ts'
import { type Bigints, largeIn, mayHaveLarge } from './json/numbers.ts'
import { hubIdOf, isId } from './keys.ts'
import { decodePayload, invalid } from './payload.ts'
import { arePhases, type Phases } from './phases.ts'
import { type Asked, readAsked, readPart, type StreamPart } from './stream.ts'

/**
 * The two messages on the wire, request and reply: JSON objects, one per list element. See PROTOCOL.md.
 * A request's first fields come in a fixed order (`at`, `ttl`, `id`, `idempotent`), so that functions read them with one match.
 */

/** W3C trace context, as it travels: which span of which trace this is part of. */
export interface TraceContext {
  traceparent?: string | undefined
  /** What tracing systems add to it; means nothing alone. */
  tracestate?: string | undefined
}

/** The members of a request, as it lies in a list. PROTOCOL.md's table is made of these comments. */
export interface RequestFields {
  /** Redis microseconds when the request was pushed, or when a delayed job is due. Only functions write it. */
  at: number
  /** Milliseconds from `at` to the deadline, at least 1. 0 or absent: no deadline. */
  ttl: number
  /** Id of the reply. Absent: the worker makes one up. */
  id: string
  /** A job's options and state (section 5.1). Only counts directly after `id`. */
  job: object
  /** The task's card says that running it twice is harmless: the call runs again if its worker dies. Only counts directly after `id`. */
  idempotent: true
  /**
   * The arguments are stored apart, in `pshub:{<queue>}:args:<id>`, and have this many bytes (section 9.1). Only counts directly after `id`, or
   * after `idempotent`.
   */
  beside: number
  /** Required: `name:major.minor`, resolved by the caller (section 9.2), at most 128 characters. */
  task: string
  /** Absent without `beside`: `{}`. */
  args: unknown
  /** `pshub:reply:{<hub>}` of the caller. Absent: no reply is pushed. */
  result_queue: string
  /** Name of the calling service; cut to 64 characters. */
  from: string
  /** W3C trace context: span of the caller or enqueuer; cut to 64 characters. An invalid one is ignored. */
  traceparent: string
  /** W3C trace context; ignored beyond 512 characters. */
  tracestate: string
  /** The caller reads chunks, and has room for this many (section 9.10). Absent or below 1: it does not. */
  stream: number
  /** The caller wants progress (section 9.10). */
  progress: true
  /** The following steps of a chain (section 10.13). */
  then: object[]
  /** How many workers died holding this request. `pshub_1_adopt` writes it before the last brace. */
  losses: number
  /** A worker that left may have started it. `pshub_1_leave` writes it before the last brace. */
  started: true
}

/** The members of a reply, likewise. */
export interface ReplyFields {
  /** Required: the request's `id`. */
  id: string
  /** Required: it succeeded. */
  ok: boolean
  /** If `ok`. A task without a result writes `null`. */
  result: unknown
  /** If `ok`, for a stream: number of chunks before this reply. */
  chunks: number
  /** Required if not `ok`. */
  error: WireError
  /** The worker that ran it. */
  worker: string
  /**
   * Whole microseconds: `backlog`, from `at` to the claim on Redis' clock; `queue`, from the claim's arrival to the handler's start on the
   * worker's clock; `exec`, the handler.
   */
  us: Phases
}

/** A request as a worker sees it. */
export interface Request extends TraceContext {
  /** What the reply is marked with: the message's own id. */
  id: string
  /** Its name in the held hash: the same, unless the message lacks the leading fields and the claim function made one up. */
  heldId: string
  /** Redis microseconds at the push; undefined in a message that did not go through the push function. */
  atUs: number | undefined
  /** Milliseconds from `at` to the deadline; 0 is none. */
  ttlMs: number
  task: string
  args: unknown
  /** `args` may have a BigInt, or an ExactNumber. */
  hasLarge: boolean
  /** Whose reply list to answer on; undefined when nobody waits. */
  hubId: string | undefined
  /** Name of the calling service, as it gave it. */
  from: string | undefined
  /** Its caller said that running it twice does no harm. */
  idempotent: boolean
  /** How many workers died holding it. */
  losses: number
  /** An earlier worker may have started it. */
  mayHaveRun: boolean
  /** What it carries as a job; undefined when that is nothing but its arguments. */
  job: JobPart | undefined
  /** The steps that follow it in a chain, unread. */
  then: unknown
  /** What it asks for beside its reply. */
  asked: Asked | undefined
  /** The message as it was in the list. */
  text: string
  /** Its arguments as they lay beside it, as JSON; undefined: they were in it. */
  argsBeside: string | undefined
}

export type Reply = Pick<ReplyFields, 'id'> &
  Partial<Pick<ReplyFields, 'worker' | 'us'>> &
  (
    | (Pick<ReplyFields, 'result'> & Partial<Pick<ReplyFields, 'chunks'>> & { ok: true })
    | (Pick<ReplyFields, 'error'> & { ok: false })
  )

/** Why a list element is not a request; the text is not repeated here, because payloads never go to logs. */
export class MalformedMessage extends Error {}

/** Everything of a request that follows `at` and `ttl`, closing brace included. `args` and `tail` are JSON already. */
export const requestBody = (id: string, task: string, idempotent: boolean, args: string, tail: string): string =>
  `"id":"${id}",${idempotent ? '"idempotent":true,' : ''}"task":"${task}","args":${args}${tail}`

/**
 * The same of a call whose arguments lie beside it: so many bytes. Functions find that by its place, right behind `idempotent`, or behind the
 * id where that is not said.
 */
export const requestBesideArgs = (id: string, task: string, idempotent: boolean, bytes: number, tail: string): string =>
  `"id":"${id}",${idempotent ? '"idempotent":true,' : ''}"beside":${bytes},"task":"${task}"${tail}`

/** The same of a job; `part` is what it carries beside its arguments, as jobPartText() has it, if that is anything. */
export const jobBody = (id: string, part: string | undefined, task: string, args: string, tail: string): string =>
  `"id":"${id}",${part === undefined ? '' : `"job":${part},`}"task":"${task}","args":${args}${tail}`

/** The end of a request, which is the same for all requests of one caller outside of traces. */
export const requestTail = (
  resultQueue: string | undefined,
  from: string | undefined,
  trace: TraceContext = {},
): string =>
  (resultQueue === undefined ? '' : `,"result_queue":${JSON.stringify(resultQueue)}`) +
  (from === undefined ? '' : `,"from":${JSON.stringify(from)}`) +
  (trace.traceparent === undefined ? '' : `,"traceparent":${JSON.stringify(trace.traceparent)}`) +
  (isTracestate(trace.tracestate) ? `,"tracestate":${JSON.stringify(trace.tracestate)}` : '') +
  '}'

/** What W3C wants to be passed on at least; a longer one is left out, because a part of it would mean something else. */
export const maxTracestate = 512

const isTracestate = (state: unknown): state is string => typeof state === 'string' && state.length <= maxTracestate

/** The message as the push function gets it: it puts `{"at":<now>,` in front. */
export const unstamped = (ttlMs: number, body: string): string => `"ttl":${ttlMs},${body}`

/** The message as it lies in the list once it was stamped there. */
export const stamped = (at: string, ttlMs: number, body: string): string => `{"at":${at},"ttl":${ttlMs},${body}`

const maxTaskLength = 128
const atLength = '{"at":1795220163659000'.length
/** How a request begins that did not come by hand. */
const leading = /^\{"at":(\d+),"ttl":\d+,"id":"([\w-]+)"/
const leadingJob = new RegExp(`${leading.source},"job":\\{`)
const leadingIdempotent = new RegExp(`${leading.source},"idempotent":true,`)

/**
 * Reads a claimed list element; `argsBeside`: its arguments, where they lay beside it. Throws MalformedMessage with a reason that names no
 * content.
 */
export const decodeRequest = (
  text: string,
  heldId: string | undefined,
  namespace: string,
  argsBeside?: string,
  bigints: Bigints = 'reject',
): Request => {
  let value: unknown
  let beside: unknown
  // Behind the leading `at`, which is as long.
  const hasLarge = bigints !== 'number' && mayHaveLarge(argsBeside ?? text, argsBeside === undefined ? atLength : 0)
  const read = hasLarge || bigints === 'exact' ? bigints : 'number'
  try {
    value = decodePayload(text, argsBeside === undefined ? read : 'number', atLength)
    if (argsBeside !== undefined) beside = decodePayload(argsBeside, read)
  } catch (error) {
    throw new MalformedMessage(error instanceof PayloadProblem ? error.message : 'not JSON')
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new MalformedMessage('not a JSON object')
  const message = value as Partial<Record<keyof RequestFields, unknown>>
  const { id, at, ttl, task, args, result_queue, from, traceparent, tracestate } = message
  const { idempotent, losses, started, job, then } = message
  if (typeof task !== 'string' || task.length > maxTaskLength) throw new MalformedMessage('no task name')
  const ownId = isId(id) ? id : heldId
  if (ownId === undefined) throw new MalformedMessage('no id')
  const hubId = hubIdOf(result_queue, namespace)
  if (hubId === undefined && result_queue !== undefined)
    throw new MalformedMessage("result_queue is not a hub's reply list")
  return {
    id: ownId,
    heldId: heldId ?? leadingId(text) ?? ownId,
    atUs: Number.isSafeInteger(at) && (at as number) > 0 ? (at as number) : undefined,
    ttlMs: Number.isFinite(ttl) && (ttl as number) > 0 ? (ttl as number) : 0,
    task,
    args: argsBeside !== undefined ? beside : args === undefined ? {} : args,
    hasLarge,
    hubId,
    from: typeof from === 'string' ? from.slice(0, 64) : undefined,
    traceparent: typeof traceparent === 'string' ? traceparent.slice(0, 64) : undefined,
    tracestate: isTracestate(tracestate) ? tracestate : undefined,
    // Counts where functions in Redis see it: they decide about it too.
    idempotent: idempotent === true && leadingIdempotent.test(text),
    losses: Number.isInteger(losses) ? (losses as number) : 0,
    mayHaveRun: started === true || (Number.isInteger(losses) && (losses as number) > 0),
    job: job !== undefined && leadingJob.test(text) ? readJobPart(job) : undefined,
    then,
    asked: hubId === undefined ? undefined : readAsked(message),
    text,
    argsBeside,
  }
}

/** The id that the claim function read: the one in the leading fields, whatever else the message says further on. */
export const leadingId = (text: string): string | undefined => leading.exec(text)?.[2]

/** The `at` of the leading fields, as it is written there; empty where there are none. */
export const leadingAt = (text: string): string => leading.exec(text)?.[1] ?? ''

/** The reply of a request that ran; `result` is JSON already. `chunks`: of a stream, how many were pushed before. */
export const okReply = (id: string, result: string, worker: string, us: Phases, chunks?: number): string =>
  `{"id":"${id}","ok":true,"result":${result},${chunks === undefined ? '' : `"chunks":${chunks},`}"worker":"${worker}",${phasesJson(us)}}`

/** The reply of a request that did not end well; its error goes through told() here, on whatever way it comes. */
export const errorReply = (
  request: Pick<Request, 'id' | 'task' | 'mayHaveRun'>,
  error: WireError,
  worker: string,
  us: Phases | undefined,
): string =>
  `{"id":"${request.id}","ok":false,"error":${stringifyExact(told(request, error))},"worker":"${worker}"${us ? `,${phasesJson(us)}` : ''}}`

/** What its caller is told of an error: never that a request was certainly not run which an earlier worker may have started. */
export const told = ({ task, mayHaveRun }: Pick<Request, 'task' | 'mayHaveRun'>, error: WireError): WireError => {
  if (!mayHaveRun || errorTable[kindOf(error.code)].ran !== 'no') return error
  const message = `An earlier worker may have run ${task} before it stopped or crashed. It was not run again: ${error.message}`
  return { ...error, code: 'WorkerLost', message, retryable: false }
}

const phasesJson = (us: Phases): string => `"us":{"backlog":${us.backlog},"queue":${us.queue},"exec":${us.exec}}`

/** Reads a reply, or what comes before one; undefined for anything that is neither. */
export const decodeReply = (text: string, bigints: Bigints = 'reject'): Reply | StreamPart | undefined => {
  const hasLarge = bigints !== 'number' && bigints !== 'exact' && mayHaveLarge(text)
  const reply = readReply(text, hasLarge || bigints === 'exact' ? bigints : 'number')
  if (hasLarge && reply) return withoutLarge(reply)
  // Of an error the hub itself reads numbers.
  return bigints === 'exact' && reply && 'ok' in reply && !reply.ok ? readReply(text, 'reject') : reply
}

/** A number that JavaScript cannot hold makes a result an error, and is left out of the data of one. */
const withoutLarge = (reply: Reply | StreamPart): Reply | StreamPart => {
  if (!('ok' in reply)) {
    const problem = 'value' in reply ? largeIn(reply.value) : undefined
    return problem ? { ...reply, problem } : reply
  }
  const problem = reply.ok ? largeIn(reply.result) : largeIn(reply.error.data, '/data')
  if (!problem) return reply
  const { id, worker, us } = reply
  const data = { problems: [problem] }
  const { message } = invalid('InvalidResult', [problem], {})
  const error = reply.ok ? { code: 'InvalidResult', message, retryable: false, data } : { ...reply.error, data }
  return { id, ok: false, error, ...(worker === undefined ? {} : { worker }), ...(us === undefined ? {} : { us }) }
}

const readReply = (text: string, bigints: Bigints): Reply | StreamPart | undefined => {
  let value: unknown
  try {
    value = decodePayload(text, bigints)
  } catch (error) {
    // Whose reply it is may still be read; its caller need not wait for the deadline.
    const id = /^\{"id":"([\w-]+)"/.exec(text)?.[1]
    const message = `The reply is invalid: ${(error as Error).message}.`
    return id === undefined ? undefined : { id, ok: false, error: { code: 'InvalidResult', message } }
  }
  if (typeof value !== 'object' || value === null) return undefined
  const reply = value as Reply
  if (typeof reply.id !== 'string') return undefined
  // What is estimated from them would be spoilt for all calls to come.
  if (reply.us !== undefined && !arePhases(reply.us)) delete reply.us
  if (reply.ok === true) return reply
  if (!('ok' in reply || 'error' in reply)) return readPart((value as Reply).id, value as Record<string, unknown>)
  const { error } = reply as { error?: WireError }
  return typeof error?.code === 'string' && typeof error.message === 'string'
    ? { ...reply, ok: false, error }
    : undefined
}

import type { Events } from '../figures/events.ts'
import type { CallSpan } from '../outlets/tracing.ts'
import { Queue } from '../queue/queue.ts'
import { roundTrip } from '../queue/round-trip.ts'
import type { Connection } from '../redis/connection.ts'
import type { Settings } from '../settings/read.ts'
import { backoffMs, maxTimeoutMs, monotonicMs, sleep } from '../wire/clock.ts'
import { Deadlines } from '../wire/deadlines.ts'
import { HubError, outcomeOf, whyKeyed } from '../wire/errors.ts'
import type { Keys } from '../wire/keys.ts'
import { type Reply, requestTail, type TraceContext } from '../wire/message.ts'
import { type CallPhases, callPhases, type Phases } from '../wire/phases.ts'
import { RedisClock } from '../wire/redis-clock.ts'
import { askedText, type StreamPart } from '../wire/stream.ts'
import { encodeArgs } from './arguments.ts'
import { Call, type Caller, type CallHost, unsentMs } from './call.ts'
import type { CallOptions } from './call-options.ts'
import { Inbox } from './inbox.ts'
import { Outbox } from './outbox.ts'
import { Draw, type Spread } from './placement.ts'
import type { Route } from './resolver.ts'
import { maxTries, mayRetry, RetryBudget } from './retries.ts'

export interface DispatchOptions {
  hubId: string
  settings: Readonly<Settings>
  keys: Keys
  commands: Connection
  blocking: Connection
  events: Events
  closing: AbortSignal
  /** Told of each call that fails without a word of a worker. */
  onUnanswered(task: string, queue: string | undefined, error: HubError): void
}

const retryFirstMs = 10
const retryMostMs = 200

/** The calls in flight of one hub: from a route and its arguments to a settled promise. */
export class Dispatch implements CallHost {
  readonly #options: DispatchOptions
  readonly #inbox: Inbox
  readonly #outboxes = new Map<string, Outbox>()
  readonly #pending = new Map<string, Call>()
  /** Who waits for an answer that is no call's: that of a job. */
  readonly #tickets = new Map<string, (reply: Reply) => void>()
  #hasHeard = false
  /** Calls of which more than a reply comes. */
  #listening = 0
  readonly #deadlines = new Deadlines()
  readonly #budget = new RetryBudget()
  readonly #draw = new Draw()
  /** The end of most requests. */
  readonly #tail: string

  constructor(options: DispatchOptions) {
    const { hubId, keys, blocking, events, settings } = options
    this.#options = options
    this.#tail = this.#tailFor({})
    this.#inbox = new Inbox({
      connection: blocking.at(keys.reply(hubId)),
      key: keys.reply(hubId),
      readKey: keys.read(hubId),
      bigints: settings.bigint,
      // More than one comes of what is listened to.
      expected: () => this.#pending.size + this.#tickets.size + this.#listening,
      onReply: (reply, again) => this.#deliver(reply, again),
      onProblem: reason => events.emit('problem', { where: 'inbox', reason }),
    })
  }

  /** Sends a call, or rejects it at once when its task takes none or its arguments do not fit. */
  send(route: Route, args: unknown, options: CallOptions, caller: Caller): void {
    const { startedAt, span, listener } = caller
    const { maxPayloadBytes, maxBacklog } = this.#options.settings
    const json = route.keyed
      ? new HubError('InvalidArgs', whyKeyed(route.task), { task: route.task })
      : encodeArgs(route, args, Math.min(maxPayloadBytes, route.maxPayloadBytes))
    if (json instanceof HubError) {
      caller.reject(this.refused(route.task, json, startedAt, span, route.queue))
      return
    }
    this.#budget.onCall()
    const queue = route.spread ? this.#lighter(route.spread, route.queue) : route.queue
    const outbox = this.#outboxOf(queue)
    outbox.maxLength = Math.min(maxBacklog, route.maxBacklog)
    outbox.forecast.slots = route.spread?.live.get(queue) ?? route.slots
    const trace = span?.trace ?? options
    const tail = trace.traceparent === undefined ? this.#tail : this.#tailFor(trace)
    const asked = listener ? askedText(listener.asked) : ''
    const spec = {
      caller,
      task: route.task,
      // A stream that was begun cannot be begun again: its chunks would come twice.
      idempotent: route.idempotent && !listener?.asked.window,
      outbox,
      args: json,
      beside: route.beside,
      tail: asked + tail,
      end: startedAt + Math.min(options.timeoutMs ?? route.timeoutMs, maxTimeoutMs),
      signal: options.signal,
      phases: options.phases === true,
    }
    const call = new Call(spec, this)
    span?.sent(queue, call.id)
    this.#expect(call)
    outbox.add(call)
  }

  /** Hears a reply that is no call's, until the returned function is called. */
  hear(ticket: string, onReply: (reply: Reply) => void): () => void {
    this.#tickets.set(ticket, onReply)
    this.#hasHeard = true
    this.#inbox.wake()
    return () => this.#tickets.delete(ticket)
  }

  /** Settles what is in flight, and takes back its requests: nobody waits for them any more. */
  async stop(): Promise<void> {
    for (const call of [...this.#pending.values()]) call.close()
    this.#deadlines.stop()
    // For good, and not only the wait that is under way: a new connection would be made, and the end of this one told as an outage.
    await Promise.all([this.#options.blocking.close(), this.#inbox.stop()])
  }

  /** Resolves after `stop` when what was in flight is taken back, as far as there is a connection. */
  async takenBack(): Promise<void> {
    await Promise.all([...this.#outboxes.values()].map(outbox => outbox.over()))
  }

  /** The keys this hub may have left in Redis. */
  usedKeys(): string[] {
    const { keys, hubId } = this.#options
    const pushed = [...this.#outboxes]
      .filter(([, outbox]) => outbox.used)
      .map(([queue]) => keys.queue(queue).pushed(hubId))
    return pushed.length === 0 && !this.#hasHeard ? [] : [keys.reply(hubId), keys.read(hubId), ...pushed]
  }

  onPostponed(call: Call): void {
    this.#deadlines.add(call)
  }

  onSettled(call: Call, error: HubError | undefined, us: Phases | undefined, result: unknown, chunks?: number): void {
    this.#pending.delete(call.id)
    if (call.spec.caller.listener) this.#listening--
    this.#deadlines.delete(call)
    const { outbox, caller, phases: isAsked } = call.spec
    outbox.inFlight--
    outbox.drop(call)
    const ahead = call.placed?.ahead
    if (ahead !== undefined && us) outbox.forecast.learn(ahead, us.backlog / 1000, (us.queue + us.exec) / 1000)
    else if (ahead !== undefined && error?.code === 'Timeout') outbox.forecast.miss(ahead, call.end - caller.startedAt)
    if (!error) {
      const phases = this.#told(call, undefined, us)
      caller.resolve(isAsked ? { result, phases } : result, chunks)
    } else if (!this.#retry(call, error)) {
      const verdict = call.verdict(error)
      // A worker that adopts a call counts no run of it.
      if (!call.isAnswered || (verdict.code === 'WorkerLost' && !us))
        this.#options.onUnanswered(call.task, outbox.queueName, verdict)
      verdict.phases = this.#told(call, verdict, us)
      caller.reject(verdict)
    }
  }

  /** True when a further try was started; that one settles the caller's promise then. */
  #retry(call: Call, error: HubError): boolean {
    const { events, closing } = this.#options
    const { spec } = call
    const { startedAt, span } = spec.caller
    if (!mayRetry(error, spec.idempotent) || call.tries + 1 >= maxTries || closing.aborted) return false
    const waitMs = backoffMs(call.tries, retryFirstMs, retryMostMs)
    // A Redis that cannot be reached is tried for a second all along; its calls fail then.
    const end = error.code === 'NotEnqueued' ? Math.min(spec.end, startedAt + unsentMs) : spec.end
    if (monotonicMs() + waitMs >= end || !this.#budget.take()) return false
    const next = new Call(spec, this, { call, error })
    this.#expect(next)
    span?.retried(error.code, call.id, next.id)
    call.inside(() => events.emit('call:retried', { task: call.task, id: call.id, nextId: next.id, code: error.code }))
    sleep(waitMs, closing).then(() => spec.outbox.add(next))
    return true
  }

  /** Tells of a call that ended before there was a request. Returns its error. */
  refused(
    task: string,
    error: HubError,
    startedAt: number,
    span: CallSpan | undefined,
    queue?: string | undefined,
  ): HubError {
    const ms = monotonicMs() - startedAt
    this.#options.onUnanswered(task, queue, error)
    this.#options.events.emit('call:settled', { task, id: undefined, ...endOf(error), ms, us: undefined })
    span?.end(error, undefined)
    return error
  }

  /** The caller's promise is about to settle. Returns its phases, where somebody wants to know them. */
  #told(call: Call, error: HubError | undefined, us: Phases | undefined): CallPhases | undefined {
    const { events } = this.#options
    const { startedAt, span } = call.spec.caller
    const isHeard = events.has('call:settled')
    if (!error && !isHeard && !call.spec.phases && !span) return undefined
    const ms = monotonicMs() - startedAt
    const phases = us && callPhases(us, ms)
    const { task, id } = call
    if (isHeard) call.inside(() => events.emit('call:settled', { task, id, ...endOf(error), ms, us: phases }))
    span?.end(error, phases)
    return phases
  }

  #expect(call: Call): void {
    this.#pending.set(call.id, call)
    if (call.spec.caller.listener) this.#listening++
    call.spec.outbox.inFlight++
    this.#deadlines.add(call)
    this.#inbox.wake()
  }

  #deliver(reply: Reply | StreamPart, again: boolean): void {
    const call = this.#pending.get(reply.id)
    if (!('ok' in reply)) {
      call?.spec.caller.listener?.onPart(reply)
      return
    }
    const onReply = call ? undefined : this.#tickets.get(reply.id)
    if (call) call.answer(reply)
    else if (onReply) onReply(reply)
    else if (!again) this.#options.events.emit('reply:late', { id: reply.id })
  }

  #tailFor(trace: TraceContext): string {
    const { keys, hubId, settings } = this.#options
    return requestTail(keys.reply(hubId), settings.name, trace)
  }

  #lighter({ live }: Spread, queue: string): string {
    return this.#draw.next(queue, live, shard => {
      const { inFlight, unsent, whyDown } = this.#outboxOf(shard)
      return { inFlight, unsent, isDown: whyDown !== undefined }
    })
  }

  #outboxOf(queue: string): Outbox {
    let outbox = this.#outboxes.get(queue)
    if (!outbox) {
      const { commands, blocking, keys, hubId, events, closing } = this.#options
      const connection = roundTrip(commands, keys.queue(queue).calls, blocking, keys.reply(hubId))
      // A clock for each queue: nodes of a Cluster have their own.
      const clock = new RedisClock()
      outbox = new Outbox({ connection, queue: new Queue(queue, keys), hubId, clock, events, closing })
      this.#outboxes.set(queue, outbox)
    }
    return outbox
  }
}

const endOf = (error: HubError | undefined) => ({ ok: !error, outcome: outcomeOf(error), code: error?.code }) as const

import { encodeArgs } from './arguments.ts'
import { Call, type CallHost, type CallSpec, type Settled, unsentMs } from './call.ts'
import { backoffMs, monotonicMs, sleep } from './clock.ts'
import type { Settings } from './config.ts'
import { Deadlines } from './deadlines.ts'
import { HubError } from './errors.ts'
import { Forecast } from './forecast.ts'
import type { CallOptions } from './gather.ts'
import type { Keys } from './keys.ts'
import { type Reply, requestTail, type TraceContext } from './message.ts'
import { Outbox } from './outbox.ts'
import { type CallPhases, callPhases } from './phases.ts'
import { Queue } from './queue.ts'
import type { Connection } from './redis.ts'
import { RedisClock } from './redisclock.ts'
import { explained } from './refusals.ts'
import { Inbox } from './replies.ts'
import type { Route } from './resolver.ts'
import { maxTries, mayRetry, RetryBudget } from './retries.ts'
import { maxTimeoutMs } from './task.ts'
import type { Events } from './telemetry.ts'
import type { CallSpan } from './tracing.ts'

export interface DispatchOptions {
  hubId: string
  settings: Readonly<Settings>
  keys: Keys
  commands: Connection
  blocking: Connection
  events: Events
  closing: AbortSignal
}

/** Who waits for a call. */
export interface Caller {
  /** Monotonic milliseconds. */
  startedAt: number
  span: CallSpan | undefined
  resolve: (value: unknown) => void
  reject: (error: HubError) => void
}

interface Destination {
  outbox: Outbox
  forecast: Forecast
}

const retryFirstMs = 10
const retryMostMs = 200

/** The calls in flight of one hub: from a route and its arguments to a settled promise. */
export class Dispatch implements CallHost {
  readonly #options: DispatchOptions
  readonly #inbox: Inbox
  readonly #destinations = new Map<string, Destination>()
  readonly #pending = new Map<string, Call>()
  readonly #deadlines = new Deadlines()
  readonly #budget = new RetryBudget()
  readonly #clock = new RedisClock()
  /** The end of most requests. */
  readonly #tail: string

  constructor(options: DispatchOptions) {
    const { hubId, keys, blocking, events } = options
    this.#options = options
    this.#tail = this.#tailFor({})
    const problem = (reason: string) => events.emit('problem', { where: 'inbox', reason })
    this.#inbox = new Inbox({
      connection: blocking,
      key: keys.reply(hubId),
      readKey: keys.read(hubId),
      expected: () => this.#pending.size,
      onReply: (reply, again) => this.#deliver(reply, again),
      onMalformed: () => problem('a reply that is not one was dropped'),
      onProblem: error => problem(explained(error.message)),
    })
  }

  /** Sends a call, or rejects it at once when its arguments do not fit. */
  send(route: Route, args: unknown, options: CallOptions, caller: Caller): void {
    const { startedAt, span } = caller
    const { maxPayloadBytes, maxBacklog } = this.#options.settings
    const json = encodeArgs(route, args, Math.min(maxPayloadBytes, route.maxPayloadBytes))
    if (json instanceof HubError) {
      span?.end(json, undefined)
      caller.reject(this.refused(route.task, json, startedAt))
      return
    }
    this.#budget.onCall()
    const { outbox, forecast } = this.#destinationOf(route.queue)
    outbox.maxLength = Math.min(maxBacklog, route.maxBacklog)
    forecast.slots = route.slots
    const trace = span?.trace ?? options
    const spec: CallSpec = {
      task: route.task,
      queue: route.queue,
      idempotent: route.idempotent,
      args: json,
      tail: trace.traceparent === undefined ? this.#tail : this.#tailFor(trace),
      startedAt,
      end: startedAt + Math.min(options.timeoutMs ?? route.timeoutMs, maxTimeoutMs),
      signal: options.signal,
      phases: options.phases === true,
      span,
      resolve: caller.resolve,
      reject: caller.reject,
    }
    const call = new Call(spec, this)
    span?.sent(route.queue, call.id)
    this.#expect(call)
    outbox.add(call)
  }

  /** Settles what is in flight: nobody answers it any more. */
  async stop(): Promise<void> {
    for (const call of [...this.#pending.values()]) {
      const { task, id } = call
      const mayRun = call.placed !== undefined || call.inDoubt
      const aborted = `The hub was closed while ${task} was running.`
      call.fail(
        mayRun ? new HubError('Aborted', aborted, { task, id }) : new HubError('HubClosed', undefined, { task, id }),
      )
    }
    this.#deadlines.stop()
    // For good, and not only the wait that is under way: a new connection would be made, and the end of this one told as an outage.
    await Promise.all([this.#options.blocking.close(), this.#inbox.stop()])
  }

  /** The keys this hub may have left in Redis. */
  usedKeys(): string[] {
    const { keys, hubId } = this.#options
    const pushed = [...this.#destinations]
      .filter(([, { outbox }]) => outbox.used)
      .map(([queue]) => keys.queue(queue).pushed(hubId))
    return pushed.length === 0 ? [] : [keys.reply(hubId), keys.read(hubId), ...pushed]
  }

  whyDown(): string | undefined {
    return this.#options.commands.downReason?.message
  }

  isSending(call: Call): boolean {
    return this.#destinationOf(call.spec.queue).outbox.isSending
  }

  onPostponed(call: Call): void {
    this.#deadlines.add(call)
  }

  onEnded(call: Call, { error, us }: Settled): void {
    this.#pending.delete(call.id)
    this.#deadlines.delete(call)
    const { outbox, forecast } = this.#destinationOf(call.spec.queue)
    outbox.drop(call)
    const { ahead } = call.placed ?? {}
    if (ahead === undefined) return
    if (us) forecast.learn(ahead, us.backlog / 1000, (us.queue + us.exec) / 1000)
    else if (error?.code === 'Timeout') forecast.miss(ahead, call.end - call.spec.startedAt)
  }

  onFailed(call: Call, error: HubError): boolean {
    const { events, closing } = this.#options
    const { spec } = call
    if (!mayRetry(error, spec.idempotent) || call.tries + 1 >= maxTries || closing.aborted) return false
    const now = monotonicMs()
    const waitMs = backoffMs(call.tries, retryFirstMs, retryMostMs)
    // A Redis that cannot be reached is tried for a second all along; its calls fail then.
    const end = error.code === 'NotEnqueued' ? Math.min(spec.end, spec.startedAt + unsentMs) : spec.end
    if (now + waitMs >= end || !this.#budget.take()) return false
    const next = new Call(spec, this, { call, error })
    this.#expect(next)
    spec.span?.retried(error.code, call.id, next.id)
    events.emit('call:retried', { task: call.task, id: call.id, nextId: next.id, code: error.code })
    sleep(waitMs, closing).then(() => this.#destinationOf(spec.queue).outbox.add(next))
    return true
  }

  /** Tells of a call that ended before there was a request. Returns its error. */
  refused(task: string, error: HubError, startedAt: number): HubError {
    const ms = monotonicMs() - startedAt
    this.#options.events.emit('call:settled', { task, id: undefined, ok: false, code: error.code, ms, us: undefined })
    return error
  }

  onSettled(call: Call, { ok, error, us }: Settled): CallPhases | undefined {
    const { events } = this.#options
    const { span } = call.spec
    const isHeard = events.has('call:settled')
    if (ok && !isHeard && !call.spec.phases && !span) return undefined
    const ms = monotonicMs() - call.spec.startedAt
    const phases = us && callPhases(us, ms)
    if (isHeard) events.emit('call:settled', { task: call.task, id: call.id, ok, code: error?.code, ms, us: phases })
    span?.end(error, phases)
    return phases
  }

  #expect(call: Call): void {
    this.#pending.set(call.id, call)
    this.#deadlines.add(call)
    this.#inbox.wake()
  }

  #deliver(reply: Reply, again: boolean): void {
    const call = this.#pending.get(reply.id)
    if (call) call.answer(reply)
    else if (!again) this.#options.events.emit('reply:late', { id: reply.id })
  }

  #tailFor(trace: TraceContext): string {
    const { keys, hubId, settings } = this.#options
    return requestTail(keys.reply(hubId), settings.name, trace)
  }

  #destinationOf(name: string): Destination {
    let destination = this.#destinations.get(name)
    if (!destination) {
      const { commands, keys, hubId, events, closing } = this.#options
      const forecast = new Forecast()
      const outbox = new Outbox({
        connection: commands,
        queue: new Queue(name, keys),
        hubId,
        forecast,
        clock: this.#clock,
        events,
        closing,
      })
      destination = { outbox, forecast }
      this.#destinations.set(name, destination)
    }
    return destination
  }
}

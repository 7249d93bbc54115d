import type * as Api from '@opentelemetry/api'
import { isExpected, type WireError } from '../wire/errors.ts'
import { latePackage } from '../wire/late-package.ts'
import type { Request, TraceContext } from '../wire/message.ts'
import type { CallPhases } from '../wire/phases.ts'
import { version } from '../wire/version.ts'

/**
 * Spans of OpenTelemetry for calls, jobs and their runs, where the application has its API installed.
 *
 * Calls follow the semantic conventions for RPC: a call waits for its answer, so its span covers the run (kind CLIENT, and SERVER at the
 * worker). Jobs follow those for messaging: nobody waits, and a retry may come a day later, so each run is a trace of its own (CONSUMER)
 * that links to the span in which the job was enqueued (PRODUCER).
 */
const system = 'pshub'

/** A sampler or an exporter that throws is at fault itself: no call may fail or wait for ever because of it. */
const harmless = <T>(act: () => T): T | undefined => {
  try {
    return act()
  } catch {
    return undefined
  }
}

/** Undefined where OpenTelemetry is not installed, or not wanted. */
export const makeTracing = (isWanted: boolean): Tracing | undefined =>
  harmless(() => (isWanted ? new Tracing(latePackage('@opentelemetry/api') as typeof Api) : undefined))

/** The tracer of one hub or worker. Without an SDK in the process there are no spans, and it costs next to nothing. */
export class Tracing {
  readonly #api: typeof Api
  readonly #tracer: Api.Tracer
  #hasSdk = false

  constructor(otel: typeof Api) {
    this.#api = otel
    this.#tracer = otel.trace.getTracer(system, version)
  }

  /** Whether a span made now means anything: to an SDK, which may be registered at any time, or as part of a trace from elsewhere. */
  isHeard({ traceparent }: TraceContext): boolean {
    const { ProxyTracerProvider, trace } = this.#api
    const provider = trace.getTracerProvider()
    // The proxy stands in for an SDK until there is one, and in front of it from then on.
    this.#hasSdk ||= !(provider instanceof ProxyTracerProvider) || provider.getDelegateTracer(system) !== undefined
    return this.#hasSdk || traceparent !== undefined || this.isActive()
  }

  /** Whether the code that runs now does so inside a span. */
  isActive(): boolean {
    return this.#api.trace.getSpan(this.#api.context.active()) !== undefined
  }

  /** The span of a call, under `given` if that is a trace context, else under the caller's active span. */
  startCall(task: string, given: TraceContext): CallSpan | undefined {
    const { context, SpanKind } = this.#api
    const attributes = { 'rpc.system.name': system, 'rpc.method': task }
    return harmless(() => {
      const parent = this.#remote(given) ?? context.active()
      const span = this.#tracer.startSpan(task, { kind: SpanKind.CLIENT, attributes }, parent)
      const trace = this.#carried(span)
      return trace && new CallSpan(this.#api, span, trace, true)
    })
  }

  /** The span in which jobs are enqueued: `task` where they are all of one. Their runs link to it. */
  startEnqueue(operation: string, task: string | undefined): EnqueueSpan | undefined {
    const { context, SpanKind } = this.#api
    const attributes = {
      ...messaging('send', operation),
      ...(task === undefined ? {} : { 'pshub.task': task }),
    }
    const name = task === undefined ? operation : `${operation} ${task}`
    return harmless(() => {
      const span = this.#tracer.startSpan(name, { kind: SpanKind.PRODUCER, attributes }, context.active())
      const trace = this.#carried(span)
      return trace && new EnqueueSpan(this.#api, span, trace, false)
    })
  }

  /** The span of a run: under its caller's, of a job a root with a link to its enqueuer's. `queueMs` is what it waited in the worker. */
  startRun(request: Request, isJob: boolean, queue: string, queueMs: number): RunSpan | undefined {
    if (!this.isHeard(request)) return undefined
    const { ROOT_CONTEXT, SpanKind, trace } = this.#api
    const { task, id, from, job } = request
    const attributes = {
      ...(isJob
        ? { ...messaging('process', 'run'), 'pshub.task': task, 'pshub.attempt': (job?.tries ?? 0) + 1 }
        : { 'rpc.system.name': system, 'rpc.method': task }),
      'messaging.destination.name': queue,
      'messaging.message.id': id,
      'pshub.us.queue': Math.round(queueMs * 1000),
      ...(from === undefined ? {} : { 'pshub.from': from }),
    }
    return harmless(() => {
      const sender = this.#remote(request)
      const linked = sender && trace.getSpanContext(sender)
      const options = isJob
        ? { kind: SpanKind.CONSUMER, attributes, root: true, links: linked ? [{ context: linked }] : [] }
        : { kind: SpanKind.SERVER, attributes }
      const parent = isJob ? ROOT_CONTEXT : (sender ?? ROOT_CONTEXT)
      const span = this.#tracer.startSpan(isJob ? `run ${task}` : task, options, parent)
      const carried = this.#carried(span)
      return carried && new RunSpan(this.#api, span, carried, !isJob, trace.setSpan(parent, span))
    })
  }

  /** A context under a span of another process; undefined for anything that is not a valid one. */
  #remote({ traceparent, tracestate }: TraceContext): Api.Context | undefined {
    const match = traceparent === undefined ? null : traceparentShape.exec(traceparent)
    if (!match || match[1] === 'ff' || (match[1] === '00' && match[5] !== undefined)) return undefined
    const { createTraceState, isSpanContextValid, ROOT_CONTEXT, trace } = this.#api
    const spanContext: Api.SpanContext = {
      traceId: match[2]!,
      spanId: match[3]!,
      traceFlags: Number.parseInt(match[4]!, 16),
      isRemote: true,
    }
    if (!isSpanContextValid(spanContext)) return undefined
    if (tracestate !== undefined) spanContext.traceState = createTraceState(tracestate)
    return trace.setSpanContext(ROOT_CONTEXT, spanContext)
  }

  /** What tells another process of this span; undefined without an SDK and a trace from elsewhere. */
  #carried(span: Api.Span): TraceContext | undefined {
    const spanContext = span.spanContext()
    if (!this.#api.isSpanContextValid(spanContext)) return undefined
    const { traceId, spanId, traceFlags, traceState } = spanContext
    const flags = (traceFlags & 255).toString(16).padStart(2, '0')
    return { traceparent: `00-${traceId}-${spanId}-${flags}`, tracestate: traceState?.serialize() || undefined }
  }
}

/** Version, trace id, span id, flags, and what later versions may add. */
const traceparentShape = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

const messaging = (type: 'send' | 'process', operation: string) => ({
  'messaging.system': system,
  'messaging.operation.type': type,
  'messaging.operation.name': operation,
})

/** A span of this library, which others carry on. */
class OwnSpan {
  /** What requests carry that are its own, or are made within it. */
  readonly trace: TraceContext
  protected readonly otel: typeof Api
  protected readonly span: Api.Span
  /** Of a call or its run, and not of a job. */
  protected readonly isCall: boolean

  constructor(otel: typeof Api, span: Api.Span, trace: TraceContext, isCall: boolean) {
    this.otel = otel
    this.span = span
    this.trace = trace
    this.isCall = isCall
  }

  /** Ends it, after its last words. */
  protected endWith(say: () => void): void {
    harmless(() => this.span.isRecording() && say())
    harmless(() => this.span.end())
  }

  protected fail(error: WireError, exception: Api.Exception): void {
    const { code, message } = error
    this.span.setAttribute('error.type', code)
    if (this.isCall) this.span.setAttribute('rpc.response.status_code', code)
    if (isExpected(error)) return
    this.span.setStatus({ code: this.otel.SpanStatusCode.ERROR, message })
    this.span.recordException(exception)
  }
}

/** The caller's side of a call, from hub.call until it settles, all its tries included. */
export class CallSpan extends OwnSpan {
  /** The version that the called name stood for. */
  resolved(task: string): void {
    harmless(() => this.span.updateName(task).setAttribute('rpc.method', task))
  }

  sent(queue: string, id: string): void {
    harmless(() => this.span.setAttribute('messaging.destination.name', queue).setAttribute('messaging.message.id', id))
  }

  retried(code: string, id: string, nextId: string): void {
    harmless(() => this.span.addEvent('retry', { 'error.type': code, 'pshub.id': id, 'pshub.next_id': nextId }))
  }

  end(error: WireError | undefined, phases: CallPhases | undefined): void {
    this.endWith(() => {
      for (const [name, us] of Object.entries(phases ?? {})) this.span.setAttribute(`pshub.us.${name}`, us)
      if (error) this.fail(error, { name: error.code, message: error.message })
    })
  }
}

/** From enqueue() or one of its kind until the jobs are in Redis. */
class EnqueueSpan extends OwnSpan {
  /** `id`: of one that is alone; else there are `count`. */
  sent(queue: string | undefined, id: string | undefined, count = 1): void {
    harmless(() => {
      if (queue !== undefined) this.span.setAttribute('messaging.destination.name', queue)
      if (id !== undefined) this.span.setAttribute('messaging.message.id', id)
      else this.span.setAttribute('messaging.batch.message_count', count)
    })
  }

  end(error: WireError | undefined): void {
    this.endWith(() => error && this.fail(error, { name: error.code, message: error.message }))
  }
}

/** The worker's side, from the check of the arguments to that of the result. */
export class RunSpan extends OwnSpan {
  readonly #context: Api.Context

  constructor(otel: typeof Api, span: Api.Span, trace: TraceContext, isCall: boolean, context: Api.Context) {
    super(otel, span, trace, isCall)
    this.#context = context
  }

  /** Runs the handler as a part of it: spans that are started there, whoever starts them, are its children. */
  around<T>(handler: () => T): T {
    return this.otel.context.with(this.#context, handler)
  }

  end(outcome: { ok: true } | { ok: false; error: WireError; thrown: unknown }): void {
    this.endWith(() => {
      if (outcome.ok) return
      const { error, thrown } = outcome
      // A handler may throw anything, also what throws when it is looked at.
      const shown = harmless(() => shownOf(thrown))
      this.fail(error, { name: error.code, message: error.message, ...shown })
    })
  }
}

const shownOf = (thrown: unknown): { name?: string; stack?: string } =>
  thrown instanceof Error ? { name: String(thrown.name), ...(thrown.stack ? { stack: String(thrown.stack) } : {}) } : {}

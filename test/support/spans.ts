import { type Context, context, type SpanKind, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  ParentBasedSampler,
  type ReadableSpan,
  SimpleSpanProcessor,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace-base'
import { afterAll, beforeAll, beforeEach } from 'vitest'
import { eventually } from './hub-fixture.ts'

/** What a processor or sampler of the application does as spans start and end. */
export const application: { onSpan: () => void } = { onSpan: () => undefined }
export const exporter = new InMemorySpanExporter()
const users = trace.getTracer('the application')

export const keepContext = () => context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())

/** Spans of each test are kept in memory. */
export const useSpans = (): void => {
  beforeAll(() => {
    keepContext()
    const memory = new SimpleSpanProcessor(exporter)
    const hooks = {
      onStart: () => application.onSpan(),
      onEnd: () => application.onSpan(),
      forceFlush: async () => {},
      shutdown: async () => {},
    }
    // Everything but traces of which the caller decided otherwise.
    const sampler = new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(1) })
    trace.setGlobalTracerProvider(new BasicTracerProvider({ sampler, spanProcessors: [memory, hooks] }))
  })
  // Not after each: what a worker runs as it stops ends then.
  beforeEach(() => exporter.reset())
  afterAll(() => {
    trace.disable()
    context.disable()
  })
}

/** The one finished span of this name and kind; waits, because a worker's ends apart from its caller's. */
export const spanOf = (name: string, kind: SpanKind): Promise<ReadableSpan> =>
  eventually(() => exporter.getFinishedSpans().find(span => span.name === name && span.kind === kind) as ReadableSpan)
export const idOf = (span: ReadableSpan) => span.spanContext().spanId
export const traceOf = (span: ReadableSpan) => span.spanContext().traceId
/** Runs inside a span of the application. */
export const inside = async <T>(name: string, act: () => Promise<T>, from: Context = context.active()): Promise<T> => {
  const span = users.startSpan(name, {}, from)
  try {
    return await context.with(trace.setSpan(from, span), act)
  } finally {
    span.end()
  }
}

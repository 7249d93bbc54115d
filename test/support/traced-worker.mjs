// A worker in a process that has an OpenTelemetry SDK: `node traced-worker.mjs <redis url> <namespace>`. It writes each
// span that ended to stdout as a line of JSON, and ends when its stdin does.
import { context, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { BasicTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { defineTask, Worker } from '../../dist/index.js'
import { calling } from './thread-tasks.mjs'

const write = spans => {
  for (const { name, kind, parentSpanContext, spanContext } of spans.map(span => ({
    name: span.name,
    kind: span.kind,
    parentSpanContext: span.parentSpanContext,
    spanContext: span.spanContext(),
  }))) {
    const { traceId, spanId } = spanContext
    process.stdout.write(`${JSON.stringify({ name, kind, traceId, spanId, parent: parentSpanContext?.spanId })}\n`)
  }
}
const exporter = {
  export(spans, done) {
    write(spans)
    done({ code: 0 })
  },
  shutdown: async () => undefined,
}
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }))

const [redis, namespace] = process.argv.slice(2)
const inner = defineTask('inner:1.0', {}, () => 'in')
const outer = defineTask('outer:1.0', {}, (_, ctx) => ctx.call('inner:1.0'))
const worker = new Worker({
  redis,
  namespace,
  queue: 'far',
  logLevel: 'silent',
  tasks: [inner, outer, { ...calling, threads: 1 }],
})
await worker.start()
process.stdout.write('{"ready":true}\n')
process.stdin.resume()
process.stdin.on('end', () => worker.stop())

import { context, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import { describe, expect, it } from 'vitest'
import { defineTask, type Hub, TaskError } from '../../src/index.ts'
import { delay } from '../support/delay.ts'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'
import { application, exporter, idOf, inside, keepContext, spanOf, traceOf, useSpans } from '../support/spans.ts'

const it_ = useRedis()
useSpans()

const inner = defineTask('inner:1.0', {}, () => 'in')
const outer = defineTask('outer:1.0', {}, (_, ctx) => ctx.call('inner:1.0'))
const broken = defineTask('broken:1.0', {}, () => {
  throw new TypeError('it broke')
})

describe('spans', () => {
  it('are one trace from the caller over the worker to the calls made there', async () => {
    await it_.worker([inner, outer])
    expect(await inside('page', () => it_.hub().call('outer', {}, { timeoutMs: 3000 }))).toBe('in')
    const page = await spanOf('page', SpanKind.INTERNAL)
    const path = [
      page,
      await spanOf('outer:1.0', SpanKind.CLIENT),
      await spanOf('outer:1.0', SpanKind.SERVER),
      await spanOf('inner:1.0', SpanKind.CLIENT),
      await spanOf('inner:1.0', SpanKind.SERVER),
    ]
    expect(exporter.getFinishedSpans()).toHaveLength(path.length)
    for (const [at, span] of path.entries()) {
      expect(traceOf(span)).toBe(traceOf(page))
      if (at > 0) expect(span.parentSpanContext?.spanId, span.name).toBe(idOf(path[at - 1]!))
    }
    const [, call, run] = path
    expect(run!.parentSpanContext?.isRemote).toBe(true)
    expect(call!.attributes).toMatchObject({
      'rpc.system.name': 'pshub',
      'rpc.method': 'outer:1.0',
      'messaging.destination.name': 'q',
      'messaging.message.id': run!.attributes['messaging.message.id'],
    })
    const us = (name: string) => call!.attributes[`pshub.us.${name}`] as number
    expect(us('backlog') + us('queue') + us('exec') + us('reply')).toBe(us('total'))
    expect(run!.attributes).toMatchObject({ 'rpc.method': 'outer:1.0', 'pshub.us.queue': expect.any(Number) })
    expect([call!.status, run!.status].map(({ code }) => code)).toEqual([SpanStatusCode.UNSET, SpanStatusCode.UNSET])
  })

  it('of the handler itself are children of the run, and parents of its calls', async () => {
    const work = defineTask('work:1.0', {}, async (_, ctx) => {
      await delay(1, 'behind a turn of the loop')
      return inside('query', () => ctx.call('inner:1.0'))
    })
    await it_.worker([inner, work], { slots: 4 })
    await it_.hub().call('work:1.0')
    const run = await spanOf('work:1.0', SpanKind.SERVER)
    const query = await spanOf('query', SpanKind.INTERNAL)
    const nested = await spanOf('inner:1.0', SpanKind.CLIENT)
    expect(query.parentSpanContext?.spanId).toBe(idOf(run))
    expect(nested.parentSpanContext?.spanId).toBe(idOf(query))
  })

  it('of nested calls are in the run also where the application keeps no active span', async () => {
    await it_.worker([inner, outer])
    const hub = it_.hub()
    context.disable()
    try {
      await hub.call('outer:1.0')
    } finally {
      keepContext()
    }
    const run = await spanOf('outer:1.0', SpanKind.SERVER)
    expect((await spanOf('inner:1.0', SpanKind.CLIENT)).parentSpanContext?.spanId).toBe(idOf(run))
  })

  it('say how a call failed', async () => {
    await it_.worker([broken])
    const hub = it_.hub()
    await failure(hub.call('broken:1.0'))
    const call = await spanOf('broken:1.0', SpanKind.CLIENT)
    const run = await spanOf('broken:1.0', SpanKind.SERVER)
    for (const span of [call, run]) {
      expect(span.status).toEqual({ code: SpanStatusCode.ERROR, message: 'it broke' })
      expect(span.attributes).toMatchObject({ 'error.type': 'TaskFailed', 'rpc.response.status_code': 'TaskFailed' })
    }
    const [thrown] = run.events
    expect(thrown).toMatchObject({ name: 'exception', attributes: { 'exception.type': 'TypeError' } })
    expect(thrown!.attributes!['exception.stacktrace']).toContain('tracing.test.ts')
    expect(call.events[0]).toMatchObject({ name: 'exception', attributes: { 'exception.type': 'TaskFailed' } })
    expect(call.attributes['pshub.us.exec']).toEqual(expect.any(Number))
  })

  it('end with their call, whatever ends it', async () => {
    // The reply to the call that its hub left, and word that it did.
    it_.allowLeftovers()
    await it_.worker([defineTask('strict:1.0', { args: { type: 'object' } }, () => new Promise(() => undefined))])
    const hub = it_.hub()
    const codes = ['NoSuchTask', 'InvalidArgs', 'Timeout', 'Aborted', 'HubClosed']
    await failure(hub.call('none:1.0'))
    await failure(hub.call('strict:1.0', 5))
    await failure(hub.call('strict:1.0', {}, { timeoutMs: 50 }))
    await failure(hub.call('strict:1.0', {}, { signal: AbortSignal.timeout(20), timeoutMs: 5000 }))
    const last = failure(hub.call('strict:1.0', {}))
    await hub.close()
    expect((await last).code).toMatch(/HubClosed|Aborted/)
    const ended = exporter.getFinishedSpans().filter(({ kind }) => kind === SpanKind.CLIENT)
    expect(ended.map(({ attributes }) => attributes['error.type'])).toEqual([...codes.slice(0, 4), (await last).code])
  })

  it('tell of tries that failed', async () => {
    let runs = 0
    const flaky = defineTask('flaky:1.0', { idempotent: true }, () => {
      if (runs++ === 0) throw new TaskError('not yet', { retryable: true })
      return runs
    })
    await it_.worker([flaky])
    expect(await it_.hub().call('flaky:1.0')).toBe(2)
    const call = await spanOf('flaky:1.0', SpanKind.CLIENT)
    expect(call.status.code).toBe(SpanStatusCode.UNSET)
    expect(call.events).toMatchObject([{ name: 'retry', attributes: { 'error.type': 'TaskFailed' } }])
    const runsOf = exporter.getFinishedSpans().filter(({ kind }) => kind === SpanKind.SERVER)
    expect(runsOf.map(span => span.parentSpanContext?.spanId)).toEqual([idOf(call), idOf(call)])
  })

  it('are not made where tracing is off, and traces pass through all the same', async () => {
    const far = await it_.worker([inner])
    await it_.worker([outer], { tracing: false, queue: 'off' })
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    await it_.hub({ tracing: false }).call('outer:1.0', {}, { traceparent })
    const run = await spanOf('inner:1.0', SpanKind.SERVER)
    expect(exporter.getFinishedSpans()).toEqual([run])
    expect(traceOf(run)).toBe('0af7651916cd43dd8448eb211c80319c')
    expect(run.parentSpanContext?.spanId).toBe('b7ad6b7169203331')
    await far.stop()
  })

  it('fail no call where the application spoils them', async () => {
    await it_.worker([inner])
    const hub = it_.hub()
    await hub.call('inner:1.0')
    application.onSpan = () => {
      throw new Error('a processor that throws')
    }
    try {
      expect(await hub.call('inner:1.0')).toBe('in')
    } finally {
      application.onSpan = () => undefined
    }
  })
})

describe('the spans of jobs', () => {
  const runs = (count: number) =>
    eventually(() => {
      const found = exporter.getFinishedSpans().filter(({ kind }) => kind === SpanKind.CONSUMER)
      return found.length === count && found
    }) as Promise<ReadableSpan[]>
  const linkOf = ({ links, parentSpanContext }: ReadableSpan) => [
    parentSpanContext,
    ...links.map(({ context }) => [context.traceId, context.spanId]),
  ]

  it('are a trace for each run, that links to the span in which its job was enqueued', async () => {
    await it_.worker([inner, outer], { slots: 4 })
    const hub = it_.hub()
    await inside('page', () => Promise.all(Array.from({ length: 5 }, () => hub.enqueue('inner:1.0'))))
    const page = await spanOf('page', SpanKind.INTERNAL)
    const enqueued = exporter.getFinishedSpans().filter(({ kind }) => kind === SpanKind.PRODUCER)
    expect(enqueued.map(({ name, parentSpanContext }) => [name, parentSpanContext?.spanId])).toEqual(
      enqueued.map(() => ['enqueue inner:1.0', idOf(page)]),
    )
    const ran = await runs(5)
    expect(new Set([page, ...ran].map(traceOf)).size).toBe(6)
    for (const run of ran) {
      const id = run.attributes['messaging.message.id']
      const own = enqueued.find(({ attributes }) => attributes['messaging.message.id'] === id)!
      expect(linkOf(run)).toEqual([undefined, [traceOf(page), idOf(own)]])
    }
    expect(ran[0]).toMatchObject({
      name: 'run inner:1.0',
      attributes: {
        'messaging.system': 'pshub',
        'messaging.operation.type': 'process',
        'messaging.destination.name': 'q',
        'pshub.task': 'inner:1.0',
        'pshub.attempt': 1,
      },
    })
    await hub.enqueue('outer:1.0')
    const nested = await spanOf('inner:1.0', SpanKind.CLIENT)
    const [outerRun] = (await runs(6)).filter(({ name }) => name === 'run outer:1.0')
    expect([traceOf(nested), nested.parentSpanContext?.spanId]).toEqual([traceOf(outerRun!), idOf(outerRun!)])
  })

  it('of retries are traces, too, and link to the enqueuer, who may not be sampled', async () => {
    let tries = 0
    const flaky = defineTask('flaky:1.0', {}, () => {
      if (tries++ === 0) throw new TaskError('not yet')
    })
    await it_.worker([flaky])
    const unsampled = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), traceFlags: 0 }
    await inside(
      'page',
      () => it_.hub().enqueue('flaky:1.0', {}, { backoff: 1 }),
      trace.setSpanContext(context.active(), unsampled),
    )
    const ran = await runs(2)
    expect(new Set(ran.map(traceOf)).size).toBe(2)
    expect(ran.map(({ links }) => links.map(({ context }) => context.traceId))).toEqual([
      [unsampled.traceId],
      [unsampled.traceId],
    ])
    expect(linkOf(ran[0]!)).toEqual(linkOf(ran[1]!))
    expect(ran.map(({ attributes }) => [attributes['pshub.attempt'], attributes['error.type']])).toEqual([
      [1, 'TaskFailed'],
      [2, undefined],
    ])
  })

  const many: Record<string, [jobs: number, enqueue: (hub: Hub) => Promise<unknown>]> = {
    enqueueMany: [2, hub => hub.enqueueMany([['inner:1.0'], ['inner:1.0']])],
    batch: [3, hub => hub.batch([['inner:1.0'], ['inner:1.0']], { then: ['inner:1.0'] })],
    chain: [2, hub => hub.chain([['inner:1.0'], ['inner:1.0']])],
    'schedules.run': [1, hub => hub.schedules('q').run('nightly')],
  }
  it.each(Object.entries(many))('that %s enqueued link to its one span', async (name, [jobs, enqueue]) => {
    it_.allowLeftovers()
    await it_.worker([inner], { slots: 4 })
    const hub = it_.hub()
    await hub.schedule('nightly', { cron: '0 0 1 1 *' }, 'inner:1.0')
    await inside('page', () => enqueue(hub))
    const page = await spanOf('page', SpanKind.INTERNAL)
    const enqueued = await spanOf(name, SpanKind.PRODUCER)
    expect(enqueued.parentSpanContext?.spanId).toBe(idOf(page))
    const ran = await runs(jobs)
    expect(ran.map(linkOf)).toEqual(ran.map(() => [undefined, [traceOf(page), idOf(enqueued)]]))
    expect(new Set([page, ...ran].map(traceOf)).size).toBe(jobs + 1)
  })
})

describe('the context', () => {
  const parent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  const byHand = (fields: object) =>
    it_.redis.rpush(`${it_.namespace}:{q}:calls`, JSON.stringify({ task: 'inner:1.0', id: 'hand', ...fields }))

  it('of a request pushed by hand makes its span the parent, its state included', async () => {
    await it_.worker([inner])
    await byHand({ traceparent: parent, tracestate: 'vendor=abc,other=1' })
    const run = await spanOf('inner:1.0', SpanKind.SERVER)
    expect(traceOf(run)).toBe('0af7651916cd43dd8448eb211c80319c')
    expect(run.parentSpanContext?.spanId).toBe('b7ad6b7169203331')
    expect(run.spanContext().traceState?.serialize()).toBe('vendor=abc,other=1')
  })

  it.each(['garbage', '00-00000000000000000000000000000000-b7ad6b7169203331-01', 17])(
    'that is none, %j, is ignored',
    async traceparent => {
      await it_.worker([inner])
      await byHand({ traceparent, tracestate: '=;garbage' })
      const run = await spanOf('inner:1.0', SpanKind.SERVER)
      expect(run.parentSpanContext).toBe(undefined)
      exporter.reset()
      await inside('page', () => it_.hub().call('inner:1.0', {}, { traceparent: String(traceparent) }))
      const page = await spanOf('page', SpanKind.INTERNAL)
      expect((await spanOf('inner:1.0', SpanKind.CLIENT)).parentSpanContext?.spanId).toBe(idOf(page))
    },
  )

  it('that a call is given wins over the active span, and travels with its state', async () => {
    await it_.worker([inner])
    const hub = it_.hub()
    await inside('page', () => hub.call('inner:1.0', {}, { traceparent: parent, tracestate: 'vendor=abc' }))
    const call = await spanOf('inner:1.0', SpanKind.CLIENT)
    expect(call.parentSpanContext?.spanId).toBe('b7ad6b7169203331')
    expect((await spanOf('inner:1.0', SpanKind.SERVER)).spanContext().traceState?.serialize()).toBe('vendor=abc')
  })

  it('of a caller is active in its callbacks', async () => {
    const telling = defineTask('telling:1.0', {}, (_, ctx) => ctx.progress({ done: 1 }))
    await it_.worker([telling])
    const hub = it_.hub()
    await hub.call('telling:1.0')
    const seen: unknown[] = []
    const onProgress = () => seen.push(trace.getSpan(context.active())?.spanContext().spanId)
    await inside('page', () => hub.call('telling:1.0', {}, { onProgress }))
    expect(seen).toEqual([idOf(await spanOf('page', SpanKind.INTERNAL))])
  })

  it('of a call or of whoever starts a worker is not that of loops and listeners', async () => {
    const seen: unknown[] = []
    await inside('start', () => it_.worker([inner]))
    const hub = it_.hub()
    hub.events.on('queue:pushed', () => seen.push(trace.getSpan(context.active())))
    await inside('page', async () => {
      await hub.call('inner:1.0')
      // And the caller's own goes on as it was.
      expect(trace.getSpan(context.active())).toBeDefined()
    })
    expect(seen).toEqual([undefined])
    await byHand({})
    const runs = await eventually(() => {
      const found = exporter.getFinishedSpans().filter(({ kind }) => kind === SpanKind.SERVER)
      return found.length === 2 ? found : undefined
    })
    expect(runs?.[1]?.parentSpanContext).toBe(undefined)
  })
})

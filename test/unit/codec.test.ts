import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Pulse } from '../../src/figures/pulse.ts'
import { encodeArgs } from '../../src/hub/arguments.ts'
import type { Route } from '../../src/hub/resolver.ts'
import { defineTask } from '../../src/index.ts'
import { monotonicMs } from '../../src/wire/clock.ts'
import { fromWire, HubError, TaskError } from '../../src/wire/errors.ts'
import { newId } from '../../src/wire/ids.ts'
import { maxDepth } from '../../src/wire/json/json-value.ts'
import {
  decodeReply,
  decodeRequest,
  errorReply,
  maxTracestate,
  okReply,
  type Reply,
  requestBody,
  requestTail,
  type TraceContext,
  unstamped,
} from '../../src/wire/message.ts'
import { type Execution, Executor } from '../../src/worker/executor.ts'
import { Handlers } from '../../src/worker/handlers.ts'
import { anyDeepJson, anyJson, anyText, depthOf, hasProto } from '../support/any-json.ts'

const at = '1795220163659000'
const phases = { backlog: 1, queue: 2, exec: 3 }
const route: Route = {
  task: 't:1.0',
  queue: 'q',
  timeoutMs: 1000,
  idempotent: false,
  keyed: undefined,
  maxPayloadBytes: 1_000_000,
  maxBacklog: 10,
  beside: false,
  slots: 1,
  checkArgs: undefined,
}

/** From a hub's arguments to the list element, as push.lua splices its time in. */
const requestOf = (args: unknown, from?: string, trace?: TraceContext): { id: string; text: string } | HubError => {
  const json = encodeArgs(route, args, route.maxPayloadBytes)
  if (json instanceof HubError) return json
  const id = newId()
  const body = requestBody(id, route.task, route.idempotent, json, requestTail('pshub:reply:{hub}', from, trace))
  return { id, text: `{"at":${at},${unstamped(5000, body)}` }
}

/** Runs a handler as a worker does, and reads its reply as a hub does. */
const replyOf = async (handler: (args: unknown) => unknown, args: unknown = null) => {
  const tasks = new Map([['t:1.0', defineTask('t:1.0', {}, handler)]])
  const unused = () => expect.unreachable()
  const executor = new Executor({
    tasks,
    handlers: new Handlers([...tasks.values()]),
    pulse: new Pulse([...tasks.keys()]),
    maxPayloadBytes: 1_000_000,
    bigint: 'reject',
    log: unused,
    nestedCall: unused,
    openStream: unused,
    onProgress: unused,
  })
  const { id, text } = requestOf(args) as { id: string; text: string }
  const request = decodeRequest(text, undefined, 'pshub', undefined, 'number')
  const { outcome } = await new Promise<Execution>(resolve => executor.start(request, monotonicMs(), 10_000, resolve))
  executor.stop()
  const reply = decodeReply(
    outcome.ok ? okReply(id, outcome.result, 'w', phases) : errorReply(request, outcome.error, 'w', phases),
    'number',
  ) as Reply
  expect(reply).toMatchObject({ id, worker: 'w', us: phases })
  return reply
}

/** What JSON makes of a value: it knows no -0. */
const anyValue = fc.oneof(
  anyJson,
  anyDeepJson,
  fc.constantFrom(-0, [-0], 2 ** 53 + 2, -(2 ** 64), Number.MAX_VALUE, 5e-324, [], [[]], { a: [] }),
  // What other fields look like.
  fc.constantFrom<unknown[]>({ x: 0, losses: 1 }, ',"losses":1}', '"id":"other"', { id: 'other', at: 1, ttl: 0 }),
)
const roundBigInt = (_: string, value: unknown) => (typeof value === 'bigint' ? Number(value) : value)
const positiveZero = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

describe('arguments', () => {
  it('reach the handler equal, or are refused before they are sent', () => {
    fc.assert(
      fc.property(anyValue, anyText, anyText, anyText, (args, from, traceparent, tracestate) => {
        const sent = requestOf(args, from, { traceparent, tracestate })
        expect(sent instanceof HubError).toBe(hasProto(args) || depthOf(args) > maxDepth)
        if (sent instanceof HubError) {
          expect(sent).toMatchObject({ code: 'InvalidArgs', ran: 'no' })
          return
        }
        const request = decodeRequest(sent.text, undefined, 'pshub', undefined, 'number')
        expect(request.args).toEqual(positiveZero(args))
        // Nothing in them passes for another field.
        expect(request).toMatchObject({ ...sent, heldId: sent.id, atUs: Number(at), ttlMs: 5000, task: 't:1.0' })
        expect(request).toMatchObject({ hubId: 'hub', losses: 0, from: from.slice(0, 64) })
        expect(request.traceparent).toBe(traceparent.slice(0, 64))
        expect(request.tracestate).toBe(tracestate.length <= maxTracestate ? tracestate : undefined)
      }),
      { numRuns: 1000 },
    )
  })

  it('that JSON has no word for travel as JSON.stringify writes them, or are refused', () => {
    const anything = fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withNullPrototype: true,
      withBoxedValues: true,
      withTypedArray: true,
      withSparseArray: true,
      withObjectString: true,
    })
    fc.assert(
      fc.property(anything, args => {
        const sent = requestOf(args)
        if (!(sent instanceof HubError))
          expect(decodeRequest(sent.text, undefined, 'pshub', undefined, 'number').args).toEqual(
            JSON.parse(JSON.stringify(args, roundBigInt)),
          )
        else expect(sent.code).toBe('InvalidArgs')
      }),
      { numRuns: 1000 },
    )
  })
})

describe('results', () => {
  it('reach the caller equal, or the caller is told what is wrong with them', async () => {
    await fc.assert(
      fc.asyncProperty(anyValue, async result => {
        const reply = await replyOf(() => result)
        expect(reply.ok).toBe(!(hasProto(result) || depthOf(result) > maxDepth))
        if (reply.ok) expect(reply.result).toEqual(positiveZero(result))
        else expect(reply.error.code).toBe('InvalidResult')
      }),
      { numRuns: 500 },
    )
  })
})

describe('failures', () => {
  const evil = {
    get code() {
      throw new Error('no')
    },
  }
  const anyThrown = fc.oneof(
    fc.anything({ withBigInt: true, withNullPrototype: true }),
    fc.constant(evil),
    fc.anything({ withBigInt: true }).map(message => Object.assign(new Error('m'), { message })),
    fc.anything({ withBigInt: true }).map(data => new HubError('Timeout', 'nested', { data })),
  )

  it('of any kind are told as TaskFailed', async () => {
    await fc.assert(
      fc.asyncProperty(anyThrown, async thrown => {
        const reply = await replyOf(() => {
          throw thrown
        })
        expect(reply).toMatchObject({ ok: false, error: { code: 'TaskFailed', message: expect.any(String) } })
      }),
      { numRuns: 1000 },
    )
  })

  it("bring the handler's own data, or why it cannot travel", async () => {
    await fc.assert(
      fc.asyncProperty(anyValue, anyText, fc.boolean(), async (data, message, retryable) => {
        const reply = await replyOf(() => {
          throw new TaskError(message, { data, retryable })
        })
        const error = reply.ok ? undefined : fromWire(reply.error, { task: 't:1.0' })
        expect(error).toMatchObject({ code: 'TaskFailed', retryable })
        // Two levels of the reply lie around it.
        if (hasProto(data) || depthOf(data) > maxDepth - 1)
          expect(error?.data).toEqual({ problems: [{ pointer: expect.any(String), message: expect.any(String) }] })
        else expect(error?.data).toEqual(positiveZero(data))
      }),
      { numRuns: 500 },
    )
  })
})

// The caller of clients/CONFORMANCE.md: orders on stdin, answers on stdout, one JSON object per line.
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { Hub, parseExact, stringifyExact } from '../../../dist/index.js'
import { doJobs } from './typescript-caller-jobs.mjs'

const say = answer => process.stdout.write(`${JSON.stringify(answer)}\n`)
const giveUps = new Map()
// Everything else is in the environment: PSHUB_REDIS, PSHUB_NAMESPACE, PSHUB_NAME ...
const hub = new Hub({ bigint: 'exact' })

const outcomeOf = async ({ task, timeout_ms: timeoutMs, traceparent, progress }, args, signal) => {
  const startedAt = performance.now()
  const told = []
  const options = {
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(signal ? { signal } : {}),
    ...(traceparent ? { traceparent } : {}),
    ...(progress ? { onProgress: each => told.push(each) } : {}),
  }
  try {
    const result = await hub.call(task, parseExact(args), options)
    const came = progress ? { progress: JSON.stringify(told) } : {}
    return { ok: true, result: stringifyExact(result), ms: performance.now() - startedAt, ...came }
  } catch (error) {
    const { code, ran, retryable, status, message, data } = error
    return { ok: false, error: { code, ran, retryable, status, message, data }, ms: performance.now() - startedAt }
  }
}

const orders = {
  async call({ id, args, ...rest }) {
    const giveUp = new AbortController()
    giveUps.set(id, giveUp)
    const outcome = await outcomeOf(rest, args, giveUp.signal)
    giveUps.delete(id)
    return outcome
  },
  async batch({ args, ...rest }) {
    return { outcomes: await Promise.all(args.map(each => outcomeOf(rest, each))) }
  },
  async cancel({ call }) {
    giveUps.get(call)?.abort()
    return {}
  },
  async stream({ task, args, take, progress, timeout_ms: timeoutMs, pause_ms: pauseMs, rest_ms: restMs }) {
    const [chunks, told] = [[], []]
    const come = () => ({ chunks: JSON.stringify(chunks), progress: JSON.stringify(told) })
    const options = {
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      ...(progress ? { onProgress: each => told.push(each) } : {}),
    }
    try {
      const stream = hub.stream(task, JSON.parse(args), options)
      for (;;) {
        if (pauseMs) await sleep(pauseMs)
        const { done, value } = await stream.next()
        if (done) return { ok: true, result: JSON.stringify(value ?? null), ...come() }
        if (chunks.push(value) === take) break
        if (chunks.length === 1 && restMs) await sleep(restMs)
      }
      await stream.return()
      return { ok: true, ...come() }
    } catch ({ code, ran, message }) {
      return { ok: false, error: { code, ran, message }, ...come() }
    }
  },
  jobs: order => doJobs(hub, order),
  async close() {
    await hub.close()
    return {}
  },
}

say({ ready: true, client: 'pshub-js' })
for await (const line of createInterface({ input: process.stdin })) {
  const order = JSON.parse(line)
  void orders[order.op](order).then(answer => say({ id: order.id, ...answer }))
}
await hub.close()

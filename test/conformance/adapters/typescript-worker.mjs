// The worker of clients/CONFORMANCE.md: serves its tasks until SIGTERM or the end of stdin.
import { appendFileSync } from 'node:fs'
import { defineTask, TaskError, Worker } from '../../../dist/index.js'

const journal = process.env.PSHUB_CONFORMANCE_JOURNAL

/** One line for each start. */
const note = args => {
  if (journal && typeof args?.token === 'string') appendFileSync(journal, `${args.token}\n`)
}

/** Resolves with true when it was told to stop. */
const wait = (ms, signal) =>
  new Promise(resolve => {
    const timer = setTimeout(() => resolve(false), ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve(true)
    })
  })

/** Of jobs with a key. */
const inLine = async (args, { attempt, fence, signal }) => {
  note(args)
  await wait(args.ms ?? 0, signal)
  note({ token: args.token && `${args.token} ended` })
  if (attempt <= (args.fails ?? 0)) throw new Error(`try ${attempt} {failed}`)
  return { attempt, fence }
}

/** Of merged jobs: one line for each run, `<key>=<tokens>` of each of its keys. */
const together = async (byKey, { attempt, signal }) => {
  const runs = [...byKey].map(([key, payloads]) => `${key}=${payloads.map(({ token }) => token)}`)
  note({ token: runs.join(' ') })
  const payloads = [...byKey.values()].flat()
  await wait(Math.max(...payloads.map(({ ms = 0 }) => ms)), signal)
  if (payloads.some(({ fails = 0 }) => attempt <= fails)) throw new Error(`try ${attempt} {failed}`)
}

const integer = { type: 'integer' }
const addition = {
  args: { type: 'object', properties: { x: integer, y: integer }, required: ['x', 'y'], additionalProperties: false },
  result: integer,
}

const tasks = [
  defineTask('echo:1.0', {}, args => {
    note(args)
    return args
  }),
  defineTask('add:1.0', { ...addition, description: 'Adds two integers.' }, ({ x, y }) => x + y),
  defineTask('add:1.1', { ...addition, description: 'Adds two integers and one.' }, ({ x, y }) => x + y + 1),
  defineTask('fail:1.0', {}, args => {
    if (args?.retryable) throw new TaskError('the disk is full', { retryable: true, data: { disk: 'sda1' } })
    if (args?.code || args?.status) throw new TaskError('it failed', { code: args.code, status: args.status })
    throw new Error('it failed')
  }),
  defineTask('bad_result:1.0', { result: integer }, () => 'no integer'),
  defineTask('big:1.0', {}, ({ length }) => 'x'.repeat(length)),
  defineTask('slow:1.0', { timeoutMs: 20_000 }, async (args, ctx) => {
    note(args)
    return { aborted: await wait(args.ms, ctx.signal) }
  }),
  defineTask('again:1.0', { timeoutMs: 20_000, idempotent: true }, async (args, ctx) => {
    note(args)
    return { aborted: await wait(args.ms, ctx.signal), pid: process.pid }
  }),
  defineTask('deaf:1.0', { timeoutMs: 20_000 }, async args => {
    note(args)
    await new Promise(resolve => setTimeout(resolve, args.ms))
    return {}
  }),
  defineTask('flaky:1.0', { backoff: 10 }, (args, ctx) => {
    note(args)
    if (ctx.attempt <= args.fails) throw new Error(`try ${ctx.attempt} {failed}`)
    return { attempt: ctx.attempt, pid: process.pid }
  }),
  defineTask('ordered:1.0', { keyed: 'ordered', backoff: 100 }, inLine),
  defineTask('passing:1.0', { keyed: 'ordered', onFailure: 'pass', backoff: 100 }, inLine),
  defineTask('merged:1.0', { keyed: 'merged', batch: 3, backoff: 100 }, together),
  defineTask('yields:1.0', { timeoutMs: 20_000 }, async function* ({ count, ms = 0, code, progress }, ctx) {
    if (progress) ctx.progress({ done: 1, total: 2, message: 'half' })
    for (let n = 1; n <= count; n++) {
      yield n
      if (ms > 0) await wait(ms, ctx.signal)
    }
    if (code) throw new TaskError('it failed', { code })
  }),
  defineTask('bad_chunk:1.0', { yields: integer }, function* () {
    yield 1
    yield 'no integer'
  }),
  defineTask('nested:1.0', { timeoutMs: 20_000 }, async (args, ctx) => {
    if (args.depth > 0) return ctx.call('nested:1.0', { ...args, depth: args.depth - 1 })
    await wait(args.ms, ctx.signal)
    return { left_ms: ctx.remainingMs() }
  }),
]

// Everything else is in the environment: PSHUB_REDIS, PSHUB_QUEUE, PSHUB_SLOTS ...
const worker = new Worker({ tasks, bigint: 'bigint' })
const stop = async () => {
  await worker.stop()
  process.exit(0)
}
process.once('SIGTERM', stop)
process.stdin.once('end', stop).resume()
await worker.start()
process.stdout.write(`${JSON.stringify({ ready: true, client: 'pshub-js', pid: process.pid })}\n`)

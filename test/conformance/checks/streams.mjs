// Chunks of a stream, progress, and how streams end (PROTOCOL.md, section 9.10).
import { deepEqual, equal, ok } from 'node:assert/strict'
import { eventually } from '../pair.mjs'

const upTo = count => Array.from({ length: count }, (_, at) => at + 1)

export const streamChecks = [
  {
    name: 'streams: each chunk once, in order, beyond a window',
    run: async pair => {
      for (const count of [0, 1, 1000]) {
        const { ok: isOk, chunks, error } = await pair.stream('yields:1.0', { count })
        ok(isOk, error?.message)
        deepEqual(JSON.parse(chunks), upTo(count))
      }
      const left = async () => (await pair.redis.keys(`${pair.namespace}:reply:*:taken:*`)).length
      await eventually(async () => (await left()) === 0, 'the end of what was said of them')
    },
  },
  {
    name: 'streams: who asks for none gets the list',
    run: async pair => {
      const outcome = await pair.call('yields:1.0', { count: 3 })
      ok(outcome.ok, outcome.error?.message)
      deepEqual(outcome.result, [1, 2, 3])
    },
  },
  {
    name: 'streams: the error of the handler comes behind the chunks before it',
    run: async pair => {
      const { ok: isOk, chunks, error } = await pair.stream('yields:1.0', { count: 2, code: 'NoMore' })
      equal(isOk, false)
      deepEqual([JSON.parse(chunks), error.code, error.ran], [[1, 2], 'NoMore', 'yes'])
    },
  },
  {
    name: 'streams: a chunk that is not what its task declares ends it, and its card says what that is',
    run: async pair => {
      const { ok: isOk, chunks, error } = await pair.stream('bad_chunk:1.0', {})
      deepEqual([isOk, JSON.parse(chunks), error?.code, error?.ran], [false, [1], 'InvalidResult', 'yes'])
      equal((await pair.call('bad_chunk:1.0')).error?.code, 'InvalidResult')
      const { yields } = JSON.parse(await pair.redis.hget(`${pair.namespace}:tasks`, 'bad_chunk:1.0'))
      deepEqual(yields, { type: 'integer' })
    },
  },
  {
    name: 'streams: progress comes to who asks for it',
    run: async pair => {
      // The end of the stream may overtake what was said just before, as a reply may.
      const { progress } = await pair.stream('yields:1.0', { count: 1, ms: 800, progress: true }, { progress: true })
      deepEqual(JSON.parse(progress), [{ done: 1, total: 2, message: 'half' }])
    },
  },
  {
    name: 'progress of a call comes to who asks for it, and to nobody else',
    run: async pair => {
      // Its reply may overtake what was said just before.
      const args = { count: 1, ms: 800, progress: true }
      const { result, progress } = await pair.call('yields:1.0', args, { progress: true })
      deepEqual([result, JSON.parse(progress)], [[1], [{ done: 1, total: 2, message: 'half' }]])
      equal((await pair.call('yields:1.0', args)).progress, undefined)
    },
  },
  {
    name: 'streams: a reader that leaves early has the handler stop',
    run: async pair => {
      const { ok: isOk, chunks } = await pair.stream('yields:1.0', { count: 100_000, ms: 2 }, { take: 5 })
      ok(isOk)
      deepEqual(JSON.parse(chunks), upTo(5))
      await eventually(async () => (await pair.held()) === 0, 'the end of the handler')
    },
  },
  {
    name: 'streams: the deadline ends them',
    run: async pair => {
      const {
        ok: isOk,
        chunks,
        error,
      } = await pair.stream('yields:1.0', { count: 100_000, ms: 5 }, { timeoutMs: 2000 })
      equal(isOk, false)
      equal(error.code, 'Timeout')
      deepEqual(JSON.parse(chunks), upTo(JSON.parse(chunks).length))
      await eventually(async () => (await pair.held()) === 0, 'the end of the handler')
    },
  },
]

import { describe, expect, it } from 'vitest'
import { defineTask, noOverlap, TaskError } from '../../src/index.ts'
import { streamWindow } from '../../src/wire/stream.ts'
import { delay } from '../support/delay.ts'
import { useGuarded } from '../support/guarded-worker.ts'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'

const it_ = useRedis()
const guarded = useGuarded(it_)

/** Yields 1 to `count`. */
const countTo = defineTask(
  'count:1.0',
  { args: { type: 'object', properties: { count: { type: 'integer' } }, required: ['count'] } },
  async function* ({ count }) {
    for (let n = 1; n <= count; n++) yield { n }
    return `${count} told`
  },
)
const words = defineTask('words:1.0', {}, function* () {
  yield* ['to', 'be', 'or']
})
const numbersTo = (count: number) => Array.from({ length: count }, (_, at) => ({ n: at + 1 }))

const all = async <T>(stream: AsyncIterable<T>): Promise<T[]> => {
  const chunks: T[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return chunks
}

/** A handler that yields until it is told to stop, and what is known of it. */
const endless = (pauseMs = 0) => {
  const seen = { yielded: 0, wasStopped: false, hasEnded: false }
  const task = defineTask('endless:1.0', { timeoutMs: 60_000 }, async function* (_, ctx) {
    ctx.signal.addEventListener('abort', () => {
      seen.wasStopped = true
    })
    try {
      for (;;) {
        yield ++seen.yielded
        if (pauseMs > 0) await delay(pauseMs, 'a handler that yields now and then')
      }
    } finally {
      seen.hasEnded = true
    }
  })
  return { seen, task }
}

describe('a stream', () => {
  it.each([0, 1, 7, 1000, 3000])(
    'brings all of %i chunks once, in order, and then what the handler returned',
    async count => {
      await it_.worker([countTo])
      const stream = it_.hub().stream(countTo, { count })
      const chunks: { n: number }[] = []
      for (;;) {
        const step = await stream.next()
        if (step.done) {
          expect(step.value).toBe(`${count} told`)
          break
        }
        chunks.push(step.value)
      }
      expect(chunks).toEqual(numbersTo(count))
      expect(await stream.next()).toEqual({ done: true, value: undefined })
    },
  )

  it('has no chunk of a task that does not yield, and its result at the end', async () => {
    await it_.worker([defineTask('plain:1.0', {}, () => ({ a: 1 }))])
    const stream = it_.hub().stream('plain:1.0')
    expect(await stream.next()).toEqual({ done: true, value: { a: 1 } })
  })

  it('throws the error of its handler behind the chunks before it', async () => {
    const fails = defineTask('fails:1.0', {}, async function* () {
      yield 1
      yield 2
      throw new TaskError('no more', { code: 'NoMore', data: { at: 2 } })
    })
    await it_.worker([fails])
    const chunks: unknown[] = []
    const read = async () => {
      for await (const chunk of it_.hub().stream(fails)) chunks.push(chunk)
    }
    expect(await failure(read())).toMatchObject({ code: 'NoMore', message: 'no more', data: { at: 2 }, ran: 'yes' })
    expect(chunks).toEqual([1, 2])
  })

  it('refuses what cannot be asked, at its first read', async () => {
    await it_.worker([countTo])
    const hub = it_.hub()
    const codeOf = async (...given: unknown[]) =>
      (await failure((hub.stream as (...given: unknown[]) => AsyncIterator<unknown>)(...given).next())).code
    expect(await codeOf('count:1.0', { count: 'x' })).toBe('InvalidArgs')
    expect(await codeOf('nothing:1.0')).toBe('NoSuchTask')
    expect(await codeOf('count:1.0', { count: 1 }, { idleMs: 'x' })).toBe('InvalidArgs')
    expect(await codeOf('count:1.0', { count: 1 }, { phases: true })).toBe('InvalidArgs')
    await hub.close()
    expect(await codeOf('count:1.0', { count: 1 })).toBe('HubClosed')
  })

  it('tells of a chunk that cannot travel', async () => {
    const odd = defineTask('odd:1.0', {}, async function* () {
      yield 1
      yield { n: new Set() }
    })
    const large = defineTask('large:1.0', {}, async function* () {
      yield 'x'.repeat(2000)
    })
    await it_.worker([odd, large], { maxPayloadBytes: 1024 })
    const hub = it_.hub()
    expect(await failure(all(hub.stream(odd)))).toMatchObject({ code: 'InvalidResult' })
    expect(await failure(all(hub.stream(large)))).toMatchObject({
      code: 'InvalidResult',
      message: 'A chunk of large:1.0 is larger than 1024 bytes.',
    })
  })
})

describe('a caller that asks for no stream', () => {
  it('gets what the handler returned, or the list of what it yielded', async () => {
    await it_.worker([countTo, words])
    const hub = it_.hub()
    expect(await hub.call(countTo, { count: 3 })).toBe('3 told')
    expect(await hub.call(words)).toEqual(['to', 'be', 'or'])
    const job = await hub.enqueue(words, {}, { keepResultMs: 200 })
    expect(await job.result()).toEqual(['to', 'be', 'or'])
    it_.allowLeftovers()
  })

  it('gets a list that its schema fits, no longer than a result may be', async () => {
    const result = { type: 'array', items: { type: 'integer' } } as const
    const given = defineTask('given:1.0', { result }, async function* () {
      yield 1
      yield 'two' as unknown as number
    })
    const long = defineTask('long:1.0', {}, async function* () {
      for (let n = 0; n < 100; n++) yield 'x'.repeat(100)
    })
    await it_.worker([given, long], { maxPayloadBytes: 1024 })
    const hub = it_.hub()
    expect(await failure(hub.call(given))).toMatchObject({
      code: 'InvalidResult',
      data: { problems: [{ pointer: '/1' }] },
    })
    expect(await failure(hub.call(long))).toMatchObject({ code: 'InvalidResult' })
    expect(await all(hub.stream(long))).toHaveLength(100)
  })

  it('is told of a generator that nobody can read', async () => {
    const wrapped = defineTask('wrapped:1.0', {}, async () => words.handler({}, undefined as never))
    await it_.worker([wrapped])
    const { code, message } = await failure(it_.hub().call(wrapped))
    expect({ code, message }).toMatchObject({
      code: 'InvalidResult',
      message: expect.stringContaining('async function*'),
    })
  })
})

describe('a worker of a stream', () => {
  it('waits while its caller does not read, and goes on when it does', async () => {
    // What is stopped is answered all the same, when its hub is gone.
    it_.allowLeftovers()
    const { task, seen } = endless()
    await it_.worker([task, countTo])
    const hub = it_.hub()
    const stream = hub.stream(task)
    expect(await stream.next()).toEqual({ done: false, value: 1 })
    await eventually(() => seen.yielded >= streamWindow)
    // It would go on while others are answered.
    for (let n = 0; n < 5; n++) await hub.call(countTo, { count: 1 })
    expect(seen.yielded).toBeLessThanOrEqual(streamWindow + 1)
    for (let n = 2; n <= 3 * streamWindow; n++) expect(await stream.next()).toEqual({ done: false, value: n })
    expect(seen.yielded).toBeLessThanOrEqual(4 * streamWindow + 1)
    await stream.return()
  })

  it('waits earlier with large chunks', async () => {
    // What is stopped is answered all the same, when its hub is gone.
    it_.allowLeftovers()
    let yielded = 0
    const large = defineTask('large:1.0', { timeoutMs: 30_000 }, async function* () {
      for (; yielded < 20; yielded++) yield 'x'.repeat(300_000)
    })
    await it_.worker([large, countTo])
    const hub = it_.hub()
    const stream = hub.stream(large)
    await stream.next()
    await eventually(() => yielded >= 3)
    for (let n = 0; n < 5; n++) await hub.call(countTo, { count: 1 })
    expect(yielded).toBeLessThanOrEqual(5)
    await stream.return()
  })

  it('stops when the loop of its caller is left', async () => {
    const { task, seen } = endless(5)
    await it_.worker([task])
    for await (const chunk of it_.hub().stream(task)) if (chunk === 3) break
    await eventually(() => seen.wasStopped && seen.hasEnded)
  })

  it('stops when the signal of its caller fires', async () => {
    const { task, seen } = endless(5)
    await it_.worker([task])
    const gaveUp = new AbortController()
    const read = async () => {
      for await (const chunk of it_.hub().stream(task, {}, { signal: gaveUp.signal })) if (chunk === 3) gaveUp.abort()
    }
    expect((await failure(read())).code).toBe('Aborted')
    await eventually(() => seen.hasEnded)
  })

  it('is told of the deadline, which ends the stream behind what came before', async () => {
    const { task, seen } = endless(20)
    await it_.worker([task])
    const error = await failure(all(it_.hub().stream(task, {}, { timeoutMs: 400 })))
    expect(error.code).toBe('Timeout')
    await eventually(() => seen.hasEnded)
  })

  it('is told when nothing came for idleMs', async () => {
    let wasStopped = false
    const slow = defineTask('slow:1.0', { timeoutMs: 30_000 }, async function* (_, ctx) {
      const stopped = new Promise<void>(resolve => ctx.signal.addEventListener('abort', () => resolve()))
      yield* [1, 2, 3]
      await stopped
      wasStopped = true
    })
    await it_.worker([slow])
    const chunks: unknown[] = []
    const read = async () => {
      for await (const chunk of it_.hub().stream(slow, {}, { idleMs: 1000 })) chunks.push(chunk)
    }
    expect(await failure(read())).toMatchObject({
      code: 'Timeout',
      message: expect.stringContaining('no chunk for 1000 ms after 3 chunks'),
    })
    expect(chunks).toEqual([1, 2, 3])
    await eventually(() => wasStopped)
  })

  it('keeps the lock that it runs under until the last chunk', async () => {
    const { seen, task } = endless(5)
    await guarded.serve([task], [noOverlap()])
    const hub = it_.hub()
    const stream = hub.stream(task)
    await stream.next()
    await stream.next()
    expect(await failure(hub.call(task))).toMatchObject({ code: 'Overloaded' })
    await stream.return()
    await eventually(() => seen.hasEnded)
    await eventually(async () => !(await it_.keys()).some(key => key.includes(':held:')))
    await guarded.forget()
    it_.allowLeftovers()
  })
})

import { describe, expect, it } from 'vitest'
import { defineTask, ExactNumber, TaskError } from '../../src/index.ts'
import { failure, useRedis } from '../support/hub-fixture.ts'

/** Integers beyond 2^53 - 1, which JavaScript rounds. */
const it_ = useRedis()
const big = 1253261109769874438n
const seen: unknown[] = []
const echo = defineTask(
  'echo:1.0',
  { retries: 0, args: { type: 'object', properties: { n: { type: 'integer' } } } },
  args => {
    seen.push(args)
    return args
  },
)
const parts = defineTask('parts:1.0', {}, function* (args) {
  yield 1
  yield args
})
const thrown = defineTask('thrown:1.0', {}, args => {
  throw new TaskError('no', { data: args })
})
const all = [echo, parts, thrown]
const read = async (chunks: AsyncIterable<unknown>) => {
  const list: unknown[] = []
  for await (const chunk of chunks) list.push(chunk)
  return list
}

describe('an integer beyond 2^53', () => {
  it('is refused where a handler would get another number, and by default', async () => {
    seen.length = 0
    await it_.worker(all)
    const hub = it_.hub()
    const problem = { pointer: '/n', message: expect.stringContaining(`${big} is beyond 2^53 - 1`) }
    for (const n of [big, new ExactNumber('-9007199254740993')])
      expect(await failure(hub.call(echo, { n } as never))).toMatchObject({
        code: 'InvalidArgs',
        message: expect.stringContaining('PSHUB_BIGINT=bigint'),
        data: { problems: [{ pointer: '/n' }] },
      })
    expect((await failure(hub.call(echo, { n: big } as never))).data).toEqual({ problems: [problem] })
    const huge = await failure(hub.call(echo, { x: [new ExactNumber('1e400')] } as never))
    expect(huge).toMatchObject({ code: 'InvalidArgs', data: { problems: [{ pointer: '/x/0' }] } })
    expect(seen).toEqual([])
    expect(await hub.call(echo, { n: Number.MAX_SAFE_INTEGER })).toEqual({ n: Number.MAX_SAFE_INTEGER })
  })

  it('is refused where a caller would get another number', async () => {
    await it_.worker(all, { bigint: 'bigint' })
    const hub = it_.hub()
    const problems = [{ pointer: '/n', message: expect.stringContaining(String(big)) }]
    const args = { n: big } as never
    const job = await hub.enqueue(echo, args, { tracked: true })
    const ways = [() => hub.call(echo, args), () => job.result(), () => read(hub.stream(parts, args))]
    for (const each of ways) expect(await failure(each())).toMatchObject({ code: 'InvalidResult', data: { problems } })
    const { data } = await failure(hub.call(thrown, args))
    expect(data).toEqual({ problems: [{ ...problems[0], pointer: '/data/n' }] })
    it_.allowLeftovers()
  })

  it('is a BigInt, a rounded number or a text, as both sides want it', async () => {
    seen.length = 0
    const worker = await it_.worker(all, { bigint: 'bigint' })
    const args = { n: big, small: 7n, deep: [2 ** 62] } as never
    const whole = { n: big, small: 7, deep: [4611686018427387904n] }
    const hub = it_.hub({ bigint: 'bigint' })
    expect(await hub.call(echo, args)).toEqual(whole)
    expect(await read(hub.stream(parts, args))).toEqual([1, whole])
    expect(await hub.call(parts, args)).toEqual([1, whole])
    expect((await failure(hub.call(thrown, args))).data).toEqual(whole)
    expect(await (await hub.enqueue(echo, args, { tracked: true })).result()).toEqual(whole)
    expect(seen).toEqual([whole, whole])
    const rounding = it_.hub({ bigint: 'number' })
    expect(await rounding.call(echo, args)).toEqual({ n: Number(big), small: 7, deep: [2 ** 62] })
    await worker.stop()
    await it_.worker(all, { bigint: 'exact' })
    const exact = it_.hub({ bigint: 'exact' })
    const texts = { n: new ExactNumber(`${big}`), half: new ExactNumber('0.50'), zero: new ExactNumber('-0') }
    expect(await exact.call(echo, { ...texts, one: 1 } as never)).toEqual({ ...texts, one: 1 })
    it_.allowLeftovers()
  })

  it('makes no twins of jobs that differ in it', async () => {
    const hub = it_.hub({ bigint: 'bigint' })
    await it_.worker([defineTask('slow:1.0', { retries: 0 }, () => new Promise(() => undefined))], {
      slots: 1,
      graceMs: 10,
    })
    const enqueue = async (n: bigint) => (await hub.enqueue('slow:1.0', { n }, { unique: true })).isTwin
    expect([await enqueue(9007199254740993n), await enqueue(9007199254740992n)]).toEqual([false, false])
    it_.allowLeftovers()
  })
})

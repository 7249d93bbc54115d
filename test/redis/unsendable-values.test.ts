import { describe, expect, it } from 'vitest'
import { defineTask, TaskError } from '../../src/index.ts'
import { failure, useRedis } from '../support/hub-fixture.ts'

/** A value that JSON does not have is refused with its place, wherever somebody gives one. */
const it_ = useRedis()
const bad = { deep: [{ tags: new Set(['a']) }] }
const pointer = '/deep/0/tags'
const problem = { pointer, message: expect.stringContaining('a Set') }

const echo = defineTask('echo:1.0', { retries: 0 }, args => args)

describe('a Set', () => {
  it('is refused as an argument, before anything is sent', async () => {
    const merging = defineTask('merge:1.0', { keyed: 'merged' }, () => undefined)
    await it_.worker([echo, merging])
    const hub = it_.hub()
    const times = { cron: '0 0 1 1 *' }
    const ways: (() => Promise<unknown>)[] = [
      () => hub.call(echo, bad),
      () => hub.stream(echo, bad).next(),
      () => hub.enqueue(echo, bad),
      () => hub.enqueue(echo, bad, { unique: true }),
      () => hub.enqueue(merging, bad, { key: 'k' }),
      () => hub.enqueueMany([[echo, bad]]),
      () =>
        hub.chain([
          [echo, {}],
          [echo, bad, { pass: 'before' }],
        ]),
      () => hub.batch([[echo, {}]], { then: [echo, bad] }),
      () => hub.schedule('nightly', times, echo, bad),
      () => hub.dead('default').retry({ code: 'TaskFailed' }, { args: bad }),
    ]
    for (const [at, way] of ways.entries()) {
      const { code, message, data } = await failure(way())
      expect({ at, code, message, data }).toEqual({
        at,
        code: 'InvalidArgs',
        message: expect.stringContaining(`${pointer} not JSON: a Set`),
        data: expect.objectContaining({ problems: [problem] }),
      })
    }
  })

  it('is refused as a result, as a chunk, and as the data of an error', async () => {
    const result = defineTask('result:1.0', {}, () => bad)
    const chunk = defineTask('chunk:1.0', {}, function* () {
      yield bad
    })
    const thrown = defineTask('thrown:1.0', {}, () => {
      throw new TaskError('the city is closed', { code: 'Closed', data: bad })
    })
    const nested = defineTask('nested:1.0', {}, (_, ctx) => ctx.call('echo:1.0', bad))
    await it_.worker([echo, result, chunk, thrown, nested])
    const hub = it_.hub()
    expect(await failure(hub.call(result))).toMatchObject({ code: 'InvalidResult', data: { problems: [problem] } })
    for (const each of [hub.stream(chunk).next(), hub.call(chunk)])
      expect(await failure(each)).toMatchObject({ code: 'InvalidResult', data: { problems: [problem] } })
    expect(await failure(hub.call(thrown))).toMatchObject({
      code: 'Closed',
      message: 'the city is closed',
      data: { problems: [{ pointer: `/data${pointer}`, message: problem.message }] },
    })
    expect(await failure(hub.call(nested))).toMatchObject({
      code: 'TaskFailed',
      data: { nested: { code: 'InvalidArgs' } },
    })
  })
})

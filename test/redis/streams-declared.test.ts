import { describe, expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { failure, useRedis } from '../support/hub-fixture.ts'

const it_ = useRedis()
const words = defineTask('words:1.0', {}, function* () {
  yield* ['to', 'be']
})

describe('a task that declares what it yields', () => {
  it('has chunks as its task declares them, and ends with one that does not fit', async () => {
    const yields = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] } as const
    const declared = defineTask('declared:1.0', { yields }, async function* (fits) {
      yield { n: 1 }
      yield { n: fits === true ? 2 : ('two' as unknown as number) }
    })
    await it_.worker([declared, words])
    const hub = it_.hub()
    const chunks: unknown[] = []
    const read = async (fits: boolean) => {
      for await (const chunk of hub.stream(declared, fits)) chunks.push(chunk)
    }
    await read(true)
    expect(chunks.splice(0)).toEqual([{ n: 1 }, { n: 2 }])
    const unfit = { code: 'InvalidResult', data: { problems: [{ pointer: '/n', message: expect.any(String) }] } }
    expect(await failure(read(false))).toMatchObject(unfit)
    expect(chunks).toEqual([{ n: 1 }])
    expect(await failure(hub.call(declared))).toMatchObject(unfit)
    const { tasks } = await hub.overview()
    expect(tasks.map(({ task, yields }) => [task, yields])).toEqual([
      ['declared:1.0', yields],
      ['words:1.0', true],
    ])
  })
})

import { expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { readAll } from '../support/counted-streams.ts'
import { delay } from '../support/delay.ts'
import { useRedis } from '../support/hub-fixture.ts'

const it_ = useRedis()

it('a chunk or a word of progress begins the wait for the next chunk anew', async () => {
  const slow = defineTask('slow:1.0', { timeoutMs: 60_000 }, async function* (_, ctx) {
    for (let n = 1; n <= 2; n++) {
      await delay(2000, 'half of the time for which nothing may come, and more')
      ctx.progress({ done: n })
      await delay(2000, 'together with the one before longer than nothing may come')
      yield n
    }
  })
  await it_.worker([slow])
  const stream = it_.hub().stream(slow, {}, { idleMs: 3500, onProgress: () => undefined })
  expect(await readAll(stream)).toEqual({ chunks: [1, 2], error: undefined })
}, 60_000)

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { Events } from '../../src/figures/events.ts'
import { Outbox } from '../../src/hub/outbox.ts'
import type { Parcel } from '../../src/hub/parcel.ts'
import { Queue } from '../../src/queue/queue.ts'
import type { Connection } from '../../src/redis/connection.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { RedisClock } from '../../src/wire/redis-clock.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const away = { isReady: false, whenReady: () => new Promise<void>(() => undefined) } as unknown as Connection

const parcel = (id: string, settled: boolean) =>
  ({ id, task: 'a:1.0', body: '', end: 1e9, settled }) as unknown as Parcel

/**
 * Calls that wait, more that end, and a retry whose call was over before it was sent; in a function that is left.
 * @returns what is kept of each
 */
const added = async (outbox: Outbox): Promise<WeakRef<Parcel>[]> => {
  const waiting = Array.from({ length: 10 }, (_, n) => parcel(`waiting ${n}`, false))
  const ended = Array.from({ length: 1000 }, (_, n) => parcel(`ended ${n}`, false))
  const retried = parcel('retried', true)
  for (const each of [...waiting, ...ended, retried]) outbox.add(each)
  await new Promise(resolve => setImmediate(resolve))
  for (const each of ended) {
    Object.assign(each, { settled: true })
    outbox.drop(each)
  }
  return [...waiting, ...ended, retried].map(each => new WeakRef(each))
}

it('keeps next to nothing of calls that are over, however long Redis is away', async () => {
  const outbox = new Outbox({
    connection: away,
    queue: new Queue('q', makeKeys('t')),
    hubId: 'h',
    clock: new RedisClock(),
    events: new Events(),
    closing: new AbortController().signal,
  })
  const kept = await added(outbox)
  // What a weak reference was made of lives until the end of the turn.
  await new Promise(resolve => setImmediate(resolve))
  collect()
  const ids = kept.flatMap(each => each.deref()?.id ?? [])
  expect(ids.filter(id => id.startsWith('waiting'))).toHaveLength(10)
  expect(ids.length).toBeLessThan(100)
  expect(ids).not.toContain('retried')
})

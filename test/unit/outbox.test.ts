import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { Events } from '../../src/figures/events.ts'
import { Outbox, type Parcel } from '../../src/hub/outbox.ts'
import { Queue } from '../../src/queue/queue.ts'
import type { Connection } from '../../src/redis/connection.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { RedisClock } from '../../src/wire/redis-clock.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const away = { isReady: false, whenReady: () => new Promise<void>(() => undefined) } as unknown as Connection

const parcel = (id: string, settled: boolean) =>
  ({ id, task: 'a:1.0', body: '', end: 1e9, settled }) as unknown as Parcel

/** One whose call waits, one whose call ends, and a retry whose call was over before it was sent; in a function that is left. */
const added = async (outbox: Outbox): Promise<WeakRef<Parcel>[]> => {
  const parcels = [parcel('waiting', false), parcel('ended', false), parcel('retried', true)]
  for (const each of parcels) outbox.add(each)
  await new Promise(resolve => setImmediate(resolve))
  outbox.drop(parcels[1]!)
  await new Promise(resolve => setImmediate(resolve))
  return parcels.map(each => new WeakRef(each))
}

it('keeps nothing of a call that is over, however long Redis is away', async () => {
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
  expect(kept.map(each => each.deref()?.id)).toEqual(['waiting', undefined, undefined])
})

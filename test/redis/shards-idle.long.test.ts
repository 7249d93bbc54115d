import { expect, it } from 'vitest'
import { eventually, useRedis } from '../support/hub-fixture.ts'
import { noted } from '../support/noting-tasks.ts'

const it_ = useRedis()

const counted = ['fcall', 'blpop', 'llen'] as const

/** How many commands of a kind Redis has run, those in functions too. */
const commands = async (): Promise<Record<(typeof counted)[number], number>> => {
  const told = await it_.redis.info('commandstats')
  const of = (name: string) => Number(new RegExp(`^cmdstat_${name}:calls=(\\d+)`, 'm').exec(told)?.[1] ?? 0)
  return { fcall: of('fcall'), blpop: of('blpop'), llen: of('llen') }
}

it('a worker of eight shards that has nothing to do waits once for all of their bells, and beats in each', async () => {
  it_.allowLeftovers()
  const names = ['q', ...[2, 3, 4, 5, 6, 7, 8].map(n => `shard.${n}.q`)]
  for (const name of names)
    await it_.redis.set(`${it_.namespace}:{${name}}:shards`, JSON.stringify({ epoch: 1, names }))
  it_.onEnd(() => it_.redis.del(...names.map(name => `${it_.namespace}:{${name}}:shards`)))
  const worker = await it_.worker([noted().task])
  let beats = 0
  worker.events.on('worker:beat', () => beats++)
  await eventually(() => beats >= 16)
  const [before, startedAt] = [await commands(), performance.now()]
  beats = 0
  await eventually(() => beats === 40)
  const after = await commands()
  const used = Object.fromEntries(counted.map(name => [name, after[name] - before[name]])) as typeof after
  // A wait for each two seconds, and behind each a claim in every place, because a token may have been lost.
  const waits = Math.ceil((performance.now() - startedAt) / 2000) + 1
  expect(used.blpop).toBeLessThanOrEqual(waits)
  expect(used.fcall).toBeLessThanOrEqual(40 + waits * 8 + 8)
  // Those claims look at the bells of the seven others, and a beat counts what waits where it reports a queue.
  expect(used.llen).toBeLessThanOrEqual(waits * (2 * 14 + 8) + 40 * 4)
}, 30_000)

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { ChaosProxy } from '../support/chaos-proxy.mjs'
import { eventually, useRedis } from '../support/hub-fixture.ts'

const it_ = useRedis()

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** Bytes in use once all is gone that nobody refers to. */
const usedBytes = async () => {
  for (let turn = 0; turn < 5; turn++) {
    await new Promise(resolve => setImmediate(resolve))
    collect()
  }
  return process.memoryUsage().heapUsed
}

it('an outage costs the memory of the calls that wait, not of all that were made in it', async () => {
  const proxy = await ChaosProxy.start(it_.server.port)
  it_.onEnd(() => proxy.stop())
  await it_.worker([defineTask('a:1.0', {}, () => null)])
  const hub = it_.hub({ redis: proxy.url })
  await hub.call('a:1.0')
  proxy.refuse = true
  proxy.cut()
  const before = await usedBytes()
  const codes = new Set<string>()
  const round = (calls: number) =>
    Promise.all(
      Array.from({ length: calls }, (_, n) =>
        hub.call('a:1.0', `${n}`.padEnd(20_000, 'x'), { timeoutMs: 200 }).catch(error => codes.add(error.code)),
      ),
    )
  for (let rounds = 0; rounds < 3; rounds++) await round(1000)
  // In the first moment the hub has not heard of the cut yet.
  expect([...codes].sort().filter(code => code !== 'OutcomeUnknown')).toEqual(['NotEnqueued'])
  // A push that is in doubt is kept, of 1 MB at the most, until it is known what became of it; 60 MB were called.
  expect((await usedBytes()) - before).toBeLessThan(15_000_000)
  proxy.heal()
  await eventually(() =>
    hub.call('a:1.0').then(
      () => true,
      () => false,
    ),
  )
})

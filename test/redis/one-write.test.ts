import { Redis } from 'ioredis'
import { beforeEach, describe, expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { ChaosProxy } from '../support/chaos-proxy.mjs'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'

const it_ = useRedis()
const echo = defineTask('echo:1.0', {}, value => value)

let proxy: ChaosProxy
beforeEach(async () => {
  proxy = await ChaosProxy.start(it_.server.port)
  it_.onEnd(() => proxy.stop())
})

/** What is written to Redis from now on, each in one piece, without what is written by the clock. */
const writes = () => {
  const seen: string[] = []
  proxy.onPassed = chunk => {
    const text = chunk.toString('latin1')
    if (/pshub_1_push|blmove/.test(text)) seen.push(text)
  }
  return seen
}

/** The worker waits for its bell, and the hub has tidied up. */
const isIdle = async () => {
  const clients = String(await it_.redis.call('CLIENT', 'LIST'))
  return clients.includes('cmd=blpop') && !(await it_.keys()).some(key => key.startsWith('reply'))
}

/** What Redis has answered until now came through the proxy, too. */
const isHeard = async () => {
  const client = new Redis(proxy.url)
  for (let n = 0; n < 3; n++) await client.ping()
  client.disconnect()
}

describe('a lone call', () => {
  it('costs its hub one write: the push, and behind it the wait for the reply', async () => {
    await it_.worker([echo])
    const hub = it_.hub({ redis: proxy.url })
    await hub.call('echo:1.0', 'warm')
    await eventually(isIdle)
    await isHeard()
    const seen = writes()
    expect(await hub.call('echo:1.0', 'lone')).toBe('lone')
    expect(seen).toHaveLength(1)
    expect(seen[0]).toMatch(/pshub_1_push.+blmove/s)
  })

  it('is run once where the connection breaks that carried both', async () => {
    // A reply that is repeated to a hub that has it lies there until that reads on, or for a minute.
    it_.allowLeftovers()
    const runs: unknown[] = []
    await it_.worker([defineTask('count:1.0', {}, n => runs.push(n))], { redis: proxy.url })
    const hub = it_.hub({ redis: proxy.url })
    await hub.call('count:1.0', 'warm')
    const inside = (start: RegExp, at: RegExp) => {
      let isDone = false
      proxy.cutInside = chunk => {
        const text = chunk.toString('latin1')
        if (isDone || !start.test(text)) return undefined
        isDone = true
        return at.exec(text)!.index
      }
      return () => isDone
    }
    // Ahead of the push, and between it and the wait.
    const places: [RegExp, RegExp][] = [
      [/pshub_1_push.+blmove/s, /pshub_1_push/],
      [/pshub_1_push.+blmove/s, /blmove/],
    ]
    let calls = 0
    for (const [start, at] of places) {
      const wasCut = inside(start, at)
      // Not each call finds both connections as they are to be: that of the last place may still be on its way back.
      while (!wasCut()) {
        await eventually(isIdle)
        await hub.call('count:1.0', calls++, { timeoutMs: 10_000 })
      }
      proxy.cutInside = undefined
    }
    expect(runs).toEqual(['warm', ...Array(calls).keys()])
  })
})

/** What matches comes late to Redis, and nothing of other connections. */
const delay = (late: RegExp) => {
  proxy.deafenAfter = chunk => {
    const isLate = late.test(chunk.toString('latin1'))
    proxy.delayMs = () => (isLate ? 150 : 0)
    return false
  }
}

describe('two connections', () => {
  it('do not have long arguments come behind the word that nobody needs them any more', async () => {
    it_.allowLeftovers()
    const worker = await it_.worker([echo])
    const hub = it_.hub({ redis: proxy.url })
    await hub.call('echo:1.0', 'warm')
    await worker.stop()
    await eventually(async () => !(await it_.keys()).some(key => key.startsWith('reply')))
    const list = `${it_.namespace}:{q}:calls`
    const caller = new AbortController()
    delay(/pshub_1_push/)
    const seen = new Promise<void>(resolve => {
      proxy.onPassed = chunk => {
        if (chunk.toString('latin1').includes(':args:')) resolve()
      }
    })
    const called = failure(hub.call('echo:1.0', 'x'.repeat(60_000), { signal: caller.signal, timeoutMs: 30_000 }))
    await seen
    caller.abort()
    expect((await called).code).toBe('Aborted')
    await new Promise<void>(resolve => hub.events.on('call:cancelled', () => resolve()))
    expect(await it_.redis.llen(list)).toBe(0)
    await eventually(async () => !(await it_.keys()).some(key => key.includes(':args:')), 2000)
  })
})

describe('what is under way on the connection that waits', () => {
  it('is taken back when the hub is closed: a push whose answer is not here yet', async () => {
    // The bell of what was taken back stays rung.
    it_.allowLeftovers()
    const worker = await it_.worker([echo])
    const hub = it_.hub({ redis: proxy.url })
    await hub.call('echo:1.0', 'warm')
    await worker.stop()
    const list = `${it_.namespace}:{q}:calls`
    const called = failure(hub.call('echo:1.0', 'closed on'))
    proxy.delayMs = () => 100
    await eventually(async () => (await it_.redis.llen(list)) === 1)
    await hub.close()
    expect((await called).code).toBe('Aborted')
    expect(await it_.redis.llen(list)).toBe(0)
  })
})

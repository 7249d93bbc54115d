// Workers killed and stopped, answers lost on the wire, connections cut. `side` is whose doing it is that all ends well.
import { equal, ok } from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { eventually } from '../pair.mjs'

const untilHeld = pair => eventually(async () => (await pair.held()) > 0, 'the claim')

export const faultChecks = [
  {
    name: 'worker killed: WorkerLost, and not run again',
    side: 'worker',
    run: async pair => {
      const two = await pair.fresh({})
      await two.startWorker()
      const call = two.call('slow:1.0', { ms: 90_000, token: 'once' }, { timeout_ms: 90_000 })
      await untilHeld(two)
      await eventually(() => two.starts('once'), 'the start')
      const killed = await two.holder()
      await killed.kill()
      const { error } = await call
      equal(error?.code, 'WorkerLost', JSON.stringify(error))
      equal(two.starts('once'), 1)
    },
  },
  {
    name: 'worker killed: an idempotent call is run by another one',
    side: 'worker',
    run: async pair => {
      const two = await pair.fresh({})
      await two.startWorker()
      const call = two.call('again:1.0', { ms: 1500, token: 'again' }, { timeout_ms: 90_000 })
      await untilHeld(two)
      await eventually(() => two.starts('again'), 'the start')
      const killed = await two.holder()
      await killed.kill()
      const { ok: isOk, result, error } = await call
      ok(isOk, JSON.stringify(error))
      ok(result.pid !== killed.pid)
      equal(two.starts('again'), 2)
    },
  },
  {
    name: 'worker told to stop: it finishes what runs',
    side: 'worker',
    run: async pair => {
      const two = await pair.fresh({})
      const call = two.call('slow:1.0', { ms: 800 }, { timeout_ms: 90_000 })
      await untilHeld(two)
      const first = two.worker
      const exit = first.kill('SIGTERM')
      const { ok: isOk, result, error } = await call
      ok(isOk, JSON.stringify(error))
      equal(result.aborted, false)
      equal((await exit).code, 0)
      equal((await two.workerCards()).length, 0)
      equal(await two.redis.zcard(two.key('leases')), 0)
    },
  },
  {
    name: 'worker stopped for longer than its lease: it settles nothing, and goes on',
    side: 'worker',
    run: async pair => {
      const two = await pair.fresh({})
      const call = two.call('deaf:1.0', { ms: 1000, token: 'stopped' }, { timeout_ms: 90_000 })
      await eventually(() => two.starts('stopped'), 'the start')
      const stopped = two.worker
      stopped.kill('SIGSTOP')
      await two.startWorker()
      const { error } = await call
      equal(error?.code, 'WorkerLost', JSON.stringify(error))
      stopped.kill('SIGCONT')
      await eventually(
        async () => (await two.workerCards()).filter(({ pid }) => pid === stopped.pid).length === 2,
        'its new identity',
      )
      for (let n = 0; n < 10; n++) equal((await two.call('add:1.0', { x: n, y: 1 })).result, n + 1)
      await eventually(async () => (await two.held()) === 0, 'the end of what is held')
    },
  },
  {
    name: 'the answer of a claim is lost: found, and run once',
    side: 'worker',
    run: async pair => {
      const cut = await pair.fresh()
      const proxy = await cut.proxy()
      await cut.open({ worker: { url: proxy.url } })
      equal((await cut.call('echo:1.0', 1)).result, 1)
      await eventually(async () => (await cut.held()) === 0, 'the end of what is held')
      proxy.dropToClient = true
      const call = cut.call('echo:1.0', { token: 'claimed' }, { timeout_ms: 90_000 })
      await untilHeld(cut)
      proxy.heal()
      const { ok: isOk, error } = await call
      ok(isOk, JSON.stringify(error))
      equal(cut.starts('claimed'), 1)
      await eventually(async () => (await cut.held()) === 0, 'the end of what is held')
    },
  },
  {
    name: 'the answer of a push is lost: repeated, and run once',
    side: 'caller',
    run: async pair => {
      const cut = await pair.fresh()
      const proxy = await cut.proxy()
      await cut.open({ caller: { url: proxy.url } })
      for (let round = 0; round < 3; round++) {
        equal((await cut.call('echo:1.0', round, { timeout_ms: 90_000 })).result, round)
        proxy.dropToClient = true
        const call = cut.call('echo:1.0', { token: `pushed${round}` }, { timeout_ms: 90_000 })
        await eventually(() => cut.starts(`pushed${round}`), 'the start')
        proxy.heal()
        const { ok: isOk, error } = await call
        ok(isOk, JSON.stringify(error))
        equal(cut.starts(`pushed${round}`), 1)
      }
    },
  },
  {
    name: 'connections cut again and again: every call is answered',
    side: 'both',
    run: async pair => {
      const cut = await pair.fresh()
      const [callerProxy, workerProxy] = [await cut.proxy(), await cut.proxy()]
      await cut.open({ caller: { url: callerProxy.url }, worker: { url: workerProxy.url } })
      equal((await cut.call('echo:1.0', 1)).result, 1)
      for (let round = 0; round < 8; round++) {
        const list = Array.from({ length: 20 }, (_, n) => ({ token: `cut${round}-${n}` }))
        const batch = cut.batch('echo:1.0', list, { timeout_ms: 90_000 })
        await sleep(10 * round)
        ;(round % 2 ? callerProxy : workerProxy).cut()
        const outcomes = await batch
        const failed = outcomes.filter(outcome => !outcome.ok)
        ok(failed.length === 0, JSON.stringify(failed[0]))
        ok(list.every(({ token }) => cut.starts(token) === 1))
      }
      await eventually(async () => (await cut.held()) === 0, 'the end of what is held')
    },
  },
]

// Workers killed and stopped, answers lost on the wire, connections cut. `side` is whose doing it is that all ends well.
import { deepEqual, equal, ok } from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { eventually } from '../pair.mjs'

const untilHeld = pair => eventually(async () => (await pair.held()) > 0, 'the claim')

export const faultChecks = [
  {
    name: 'worker killed: WorkerLost, and not run again',
    side: 'worker',
    run: async pair => {
      const two = await pair.twoWorkers()
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
      const two = await pair.twoWorkers()
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
    name: 'worker told to stop: it finishes what runs, and then there is none: NoWorkers',
    side: 'both',
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
      // A caller uses what it knows of a queue for no longer than that.
      await sleep(2100)
      const { error: refusal } = await two.call('add:1.0', { x: 1, y: 1 })
      deepEqual([refusal?.code, refusal?.ran], ['NoWorkers', 'no'])
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
      const cut = await pair.proxied()
      cut.workers.dropToClient = true
      const call = cut.call('echo:1.0', { token: 'claimed' }, { timeout_ms: 90_000 })
      await untilHeld(cut)
      cut.workers.heal()
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
      const cut = await pair.proxied()
      for (let round = 0; round < 3; round++) {
        equal((await cut.call('echo:1.0', round, { timeout_ms: 90_000 })).result, round)
        // From the push on: a caller that looks up its route before it needs that answer.
        cut.callers.dropAnswersAfter = chunk => chunk.includes('pshub_1_push')
        const call = cut.call('echo:1.0', { token: `pushed${round}` }, { timeout_ms: 90_000 })
        await eventually(() => cut.starts(`pushed${round}`), 'the start')
        cut.callers.heal()
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
      const cut = await pair.proxied()
      for (let round = 0; round < 8; round++) {
        const list = Array.from({ length: 20 }, (_, n) => ({ token: `cut${round}-${n}` }))
        const batch = cut.batch('echo:1.0', list, { timeout_ms: 90_000 })
        await sleep(10 * round)
        ;(round % 2 ? cut.callers : cut.workers).cut()
        const outcomes = await batch
        const failed = outcomes.filter(outcome => !outcome.ok)
        ok(failed.length === 0, JSON.stringify(failed[0]))
        ok(list.every(({ token }) => cut.starts(token) === 1))
      }
      await eventually(async () => (await cut.held()) === 0, 'the end of what is held')
    },
  },
]

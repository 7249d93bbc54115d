// Each error class, with what it says about whether the handler ran; deadlines, expiry and cancellation.
import { deepEqual, equal, ok } from 'node:assert/strict'
import { eventually } from '../pair.mjs'

/** The error of a call that must fail so. */
const failure = async (outcome, code, ran) => {
  const { ok: isOk, error, ms } = await outcome
  ok(!isOk, `it ended well instead of with ${code}`)
  deepEqual({ code: error.code, ran: error.ran }, { code, ran }, error.message)
  ok(error.message.length > 0)
  return { ...error, ms }
}

const untilNothingIsHeld = pair => eventually(async () => (await pair.held()) === 0, 'the end of what is held')

const untilBusy = (pair, count) => eventually(async () => (await pair.held()) === count, `${count} requests that run`)

/** Has every slot of the worker taken by a handler that runs until its call is cancelled. */
const fill = async pair => {
  const calls = Array.from({ length: 4 }, () => pair.start('slow:1.0', { ms: 120_000 }, { timeout_ms: 120_000 }))
  await untilBusy(pair, 4)
  return async () => {
    for (const { id } of calls) await pair.cancel(id)
    for (const { outcome } of calls) await failure(outcome, 'Aborted', 'maybe')
  }
}

export const outcomeChecks = [
  {
    name: 'NoSuchTask',
    run: async pair => {
      equal((await failure(pair.call('nix:1.0'), 'NoSuchTask', 'no')).status, 404)
      await failure(pair.call('add:9.0'), 'NoSuchTask', 'no')
      await failure(pair.call('no name'), 'NoSuchTask', 'no')
    },
  },
  {
    name: 'InvalidArgs, with pointers to each field',
    run: async pair => {
      const { data } = await failure(pair.call('add:1.0', { x: '1', z: 1 }), 'InvalidArgs', 'no')
      deepEqual(data.problems.map(({ pointer }) => pointer).sort(), ['/x', '/y', '/z'])
    },
  },
  {
    name: 'TaskFailed',
    run: async pair => {
      const error = await failure(pair.call('fail:1.0'), 'TaskFailed', 'yes')
      deepEqual([error.message, error.retryable, error.status], ['it failed', false, 500])
    },
  },
  {
    name: 'TaskFailed, under a code and a status that the handler chose',
    run: async pair => {
      const chosen = await failure(pair.call('fail:1.0', { code: 'NoSuchCity', status: 404 }), 'NoSuchCity', 'yes')
      deepEqual([chosen.message, chosen.retryable, chosen.status], ['it failed', false, 404])
      const bare = await failure(pair.call('fail:1.0', { status: 422 }), 'TaskFailed', 'yes')
      deepEqual([bare.message, bare.retryable, bare.status], ['it failed', false, 422])
    },
  },
  {
    name: 'TaskFailed, retryable and with data',
    run: async pair => {
      const error = await failure(pair.call('fail:1.0', { retryable: true }), 'TaskFailed', 'yes')
      deepEqual([error.message, error.retryable, error.data], ['the disk is full', true, { disk: 'sda1' }])
    },
  },
  { name: 'InvalidResult', run: pair => failure(pair.call('bad_result:1.0'), 'InvalidResult', 'yes') },
  {
    name: 'Expired: no time was left',
    run: async pair => {
      await failure(pair.call('echo:1.0', { token: 'no-time' }, { timeout_ms: 0 }), 'Expired', 'no')
      equal(pair.starts('no-time'), 0)
    },
  },
  {
    name: 'Timeout, not before its time, and its handler is told',
    run: async pair => {
      // The handler would go on for longer than anybody waits for its end here.
      const call = pair.call('slow:1.0', { ms: 120_000 }, { timeout_ms: 2000 })
      const { ms } = await failure(call, 'Timeout', 'maybe')
      ok(ms >= 1990, `after ${ms} ms`)
      await untilNothingIsHeld(pair)
    },
  },
  {
    name: 'a handler that does not listen is given up',
    run: async pair => {
      const calls = Array.from({ length: 4 }, () => ({ ms: 12_000 }))
      const outcomes = await pair.batch('deaf:1.0', calls, { timeout_ms: 2000 })
      ok(outcomes.every(({ error }) => error?.code === 'Timeout'))
      // They keep their slots for longer, if they are not given up.
      const { result } = await pair.call('add:1.0', { x: 1, y: 1 }, { timeout_ms: 9000 })
      equal(result, 2)
    },
  },
  {
    name: 'what expired in the list is never started',
    run: async pair => {
      await untilNothingIsHeld(pair)
      const release = await fill(pair)
      await failure(pair.call('echo:1.0', { token: 'too-late' }, { timeout_ms: 1000 }), 'Timeout', 'maybe')
      await release()
      equal((await pair.call('add:1.0', { x: 1, y: 1 })).result, 2)
      equal(pair.starts('too-late'), 0)
    },
  },
  {
    name: 'Aborted: the handler is told',
    run: async pair => {
      await untilNothingIsHeld(pair)
      const { id, outcome } = pair.start('slow:1.0', { ms: 120_000 }, { timeout_ms: 120_000 })
      await untilBusy(pair, 1)
      await pair.cancel(id)
      await failure(outcome, 'Aborted', 'maybe')
      await untilNothingIsHeld(pair)
    },
  },
  {
    name: 'Aborted: a waiting request leaves the list',
    run: async pair => {
      await untilNothingIsHeld(pair)
      const release = await fill(pair)
      const { id, outcome } = pair.start('echo:1.0', { token: 'taken-back' }, { timeout_ms: 120_000 })
      await eventually(async () => (await pair.waiting()) === 1, 'the push')
      await pair.cancel(id)
      await failure(outcome, 'Aborted', 'maybe')
      await eventually(async () => (await pair.waiting()) === 0, 'its removal')
      await release()
      equal(pair.starts('taken-back'), 0)
    },
  },
  {
    name: 'NotEnqueued, before its deadline, and calls again when Redis is back',
    side: 'caller',
    run: async pair => {
      const cut = await pair.proxied()
      cut.callers.refuse = true
      cut.callers.cut()
      const { ms } = await failure(
        cut.call('echo:1.0', { token: 'not-sent' }, { timeout_ms: 60_000 }),
        'NotEnqueued',
        'no',
      )
      ok(ms < 60_000, `after ${ms} ms`)
      cut.callers.heal()
      await eventually(async () => (await cut.call('add:1.0', { x: 1, y: 1 })).ok, 'a call after the outage')
      equal(cut.starts('not-sent'), 0)
    },
  },
  {
    name: 'OutcomeUnknown: the push was not answered by the deadline',
    side: 'caller',
    run: async pair => {
      const cut = await pair.proxied()
      equal((await cut.call('echo:1.0', 1)).result, 1)
      // From the push on: a caller that looks up its route before it needs that answer.
      cut.callers.dropAnswersAfter = chunk => chunk.includes('pshub_1_push')
      await failure(cut.call('echo:1.0', { token: 'in-doubt' }, { timeout_ms: 1500 }), 'OutcomeUnknown', 'maybe')
      cut.callers.heal()
    },
  },
  {
    name: 'HubClosed',
    side: 'caller',
    run: async pair => {
      const closed = await pair.fresh({})
      equal((await closed.call('add:1.0', { x: 1, y: 1 })).result, 2)
      await untilNothingIsHeld(closed)
      const running = closed.start('slow:1.0', { ms: 60_000 }, { timeout_ms: 60_000 })
      await untilBusy(closed, 1)
      await closed.close()
      await failure(running.outcome, 'Aborted', 'maybe')
      await failure(closed.call('add:1.0', { x: 1, y: 1 }), 'HubClosed', 'no')
    },
  },
]

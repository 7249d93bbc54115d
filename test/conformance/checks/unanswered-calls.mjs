// What a hub tells the registry of the calls that no worker ended, as `pshub top` and the pages read it.
import { deepEqual, equal, ok } from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { Hub } from '../../../dist/index.js'
import { eventually } from '../pair.mjs'

/** Those of a code, once they are as many. */
const told = async (pair, code, count) => {
  const reader = new Hub({ redis: pair.stage.server.url, namespace: pair.namespace })
  try {
    let found
    const isThere = async () => {
      const { unanswered } = await reader.overview()
      found = unanswered.find(each => each.code === code)
      return found?.count === count
    }
    await eventually(isThere, `the record of ${count} calls that were refused as ${code}`)
    return found
  } finally {
    await reader.close()
  }
}

export const unansweredCallChecks = [
  {
    name: 'Overloaded: the list is at the limit that its worker declared; a caller tells which of its calls were refused so, and which as NoWorkers',
    side: 'both',
    run: async pair => {
      const narrow = await pair.fresh({ worker: { env: { PSHUB_SLOTS: '1', PSHUB_MAX_BACKLOG: '3' } } })
      const outcomes = await narrow.batch('slow:1.0', Array(12).fill({ ms: 150 }), { timeout_ms: 60_000 })
      const refused = outcomes.filter(({ ok: isOk }) => !isOk)
      ok(refused.length > 0 && refused.length <= 9, `${refused.length} were refused`)
      for (const { error } of refused)
        deepEqual([error.code, error.ran, error.retryable, error.status], ['Overloaded', 'no', true, 429])
      const full = await told(narrow, 'Overloaded', refused.length)
      const { task, queue, lastMinute, from, pid } = full
      deepEqual([task, queue, lastMinute, from], ['slow:1.0', narrow.queue, refused.length, 'conformance'])
      ok(
        refused.some(({ error }) => error.message === full.message),
        full.message,
      )
      deepEqual([pid, typeof full.id], [narrow.caller.pid, 'string'])
      await narrow.worker.kill('SIGTERM')
      // The longest use of a route.
      await sleep(2100)
      const { error } = await narrow.call('slow:1.0', { ms: 1 })
      equal(error.code, 'NoWorkers')
      const gone = await told(narrow, 'NoWorkers', 1)
      deepEqual([gone.queue, gone.lastMinute, gone.message, gone.id], [narrow.queue, 1, error.message, undefined])
    },
  },
]

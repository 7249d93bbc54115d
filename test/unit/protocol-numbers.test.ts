import { describe, expect, it } from 'vitest'
import { livePage, page } from '../../src/catalogue/catalogue.ts'
import { mostBeats, republishMs, tellingAtOnce } from '../../src/catalogue/registrar.ts'
import { maxTellingHubs, unansweredMemoryMs } from '../../src/catalogue/unanswered-report.ts'
import { maxCallers } from '../../src/figures/callers.ts'
import { maxKeptCalls, maxKeptTasks } from '../../src/figures/kept-calls.ts'
import { failureMemoryMs, maxFailureMessage, maxFailuresLength } from '../../src/figures/recent-failures.ts'
import { slowMemoryMs } from '../../src/figures/slow-calls.ts'
import { maxWindows, maxWindowsLength, sliceCount, sliceMs } from '../../src/figures/task-stats.ts'
import { maxUnansweredMessage, maxUnansweredTasks } from '../../src/figures/unanswered.ts'
import { intervalPart, intervalRuns, leastIntervalMs, targetMs, targetSlots } from '../../src/hub/forecast.ts'
import { staleMs } from '../../src/hub/routes.ts'
import { defaultRetries } from '../../src/jobs/backoff.ts'
import { pushMemoryMs, replyTtlMs } from '../../src/queue/queue.ts'
import { blockSeconds } from '../../src/redis/connections.ts'
import { settingsTable } from '../../src/settings/read.ts'
import { foreignBounds } from '../../src/task/schema.ts'
import { defaultJobTimeoutMs, defaultTimeoutMs } from '../../src/task/task.ts'
import { maxTimeoutMs } from '../../src/wire/clock.ts'
import { maxCardLength, maxNesting, maxRecordLength, maxUnansweredLength } from '../../src/wire/foreign.ts'
import { maxFailureMessage as maxJobFailure } from '../../src/wire/job-part.ts'
import { maxDepth } from '../../src/wire/json/json-value.ts'
import { maxTracestate } from '../../src/wire/message.ts'
import { beatMs, beatsPerLease } from '../../src/worker/roles/beat.ts'
import { abandonAfterMs } from '../../src/worker/run.ts'
import { unservedPatienceMs } from '../../src/worker/unserved.ts'
import { read, section } from '../support/protocol-document.ts'
import { jobQueue, sentBy } from '../support/sent-commands.ts'

describe('the numbers of the protocol', () => {
  it('are those of the code', async () => {
    const { maxPayloadBytes, maxBacklog, leaseMs, maxBlockedMs, graceMs } = settingsTable
    const vectors = JSON.parse(read('clients/vectors/numbers.json'))
    const numbers = Object.fromEntries(Object.entries(vectors.numbers).map(([name, value]) => [name, String(value)]))
    const cancel = await sentBy((queue, client) => queue.cancel(client, '', ''))
    const beat = await sentBy((queue, client) => queue.beat(client, '', 4000, true, { reports: true, moves: true }))
    const claim = await sentBy((queue, client) => queue.claim(client, '', { slots: 1, jobs: 0 }))
    const adopt = await sentBy((queue, client) => queue.adopt(client, '', ''))
    expect(numbers['a cancelled id is kept for, ms']).toBe(cancel.args.at(-1))
    expect(numbers['a cancelled id is kept for, ms']).toBe(beat.args.at(3))
    expect(numbers['the reporter of a queue is replaced after, ms']).toBe(beat.args.at(4))
    expect(numbers['the worker that moves due jobs or runs schedules is replaced after, ms']).toBe(beat.args.at(5))
    expect(numbers['requests moved per adoption step']).toBe(adopt.args.at(2))
    expect(numbers['largest answer or write, bytes']).toBe(adopt.args.at(3))
    expect(numbers['dead jobs kept per queue']).toBe(adopt.args.at(4))
    expect(numbers['a dead job is kept for, ms']).toBe(adopt.args.at(5))
    const waits = await sentBy((_, client) => jobQueue().await(client, 'a', 't', 'h'))
    expect(numbers['callers that wait for one job']).toBe(waits.args.at(2))
    const forwarded = await sentBy((_, client) => jobQueue().forward(client, 'x'))
    expect(numbers['an arrival from another queue is remembered for, ms']).toBe(forwarded.args.at(0))
    const opened = await sentBy((_, client) => jobQueue().openBatch(client, 'b', '', ''))
    expect(numbers['an unclosed batch is dropped after, ms']).toBe(opened.args.at(-1))
    expect(read('src/queue/lua/shared-jobs.lua')).toContain(`max_failures = ${numbers['failures kept in a job']}\n`)
    expect(read('src/queue/lua/adopt.lua')).toContain(
      `max_losses = ${numbers['a request is not run again after so many lost workers']}\n`,
    )
    expect(numbers['largest answer or write, bytes']).toBe(claim.args.at(3))
    expect(numbers).toMatchObject({
      'deepest nesting of arguments and results': String(maxDepth),
      'largest arguments or result, bytes': String(maxPayloadBytes.fallback),
      'longest `tracestate`, characters': String(maxTracestate),
      'longest backlog that a hub pushes to': String(maxBacklog.fallback),
      'standing backlog: shortest interval, ms': String(leastIntervalMs),
      'standing backlog: shortest interval, in runs': String(intervalRuns),
      'standing backlog: interval as a share of the longest time that calls have left': String(intervalPart),
      'standing backlog: target, in rounds of the slots': String(targetSlots),
      'standing backlog: least target, ms': String(targetMs),
      'heartbeat interval, ms': String(beatMs),
      'lease length, ms': String(leaseMs.fallback),
      'heartbeats per lease, at least': String(beatsPerLease),
      'longest blocked event loop that keeps its lease, ms': String(maxBlockedMs.fallback),
      'timeout of `BLPOP` and `BLMOVE`, s': String(blockSeconds),
      'a push number is remembered for, ms': String(pushMemoryMs),
      'a reply list is kept after its last reply for, ms': String(replyTtlMs),
      'a handler keeps its slot after its time limit for, ms': String(abandonAfterMs),
      'default retries of a job': String(defaultRetries),
      "longest message of a job's failure, characters": String(maxJobFailure),
      "default time limit of a job's run, ms": String(defaultJobTimeoutMs),
      'default `timeoutMs`': String(defaultTimeoutMs),
      'longest timeout of a call, ms': String(maxTimeoutMs),
      'grace period of a leaving worker, ms': String(graceMs.fallback),
      'task cards are rewritten every, ms': String(republishMs),
      'records checked for age with each rewrite': String(page),
      'workers that write statistics with every heartbeat': String(tellingAtOnce),
      'most heartbeats between two statistics': String(mostBeats),
      'live workers that a caller looks at first': String(livePage),
      'a request without a deadline waits for a worker of its task for, ms': String(unservedPatienceMs),
      'longest use of a route, ms': String(staleMs),
      'slice of a statistics window, ms': String(sliceMs),
      'slices of a statistics window': String(sliceCount),
      'tasks with their own window': String(maxWindows),
      'all windows of a worker, characters': String(maxWindowsLength),
      'slow calls kept per task': String(maxKeptCalls),
      'tasks with slow calls': String(maxKeptTasks),
      'a slow call is kept for, ms': String(slowMemoryMs),
      'named callers per task': String(maxCallers),
      'recent failures kept per task': String(maxKeptCalls),
      'tasks with recent failures': String(maxKeptTasks),
      'a recent failure is kept for, ms': String(failureMemoryMs),
      'longest message of a recent failure, characters': String(maxFailureMessage),
      'all recent failures of a worker, characters': String(maxFailuresLength),
      'tasks with unanswered calls per hub': String(maxUnansweredTasks),
      'longest message of an unanswered call, characters': String(maxUnansweredMessage),
      'all unanswered calls of a hub, characters': String(maxUnansweredLength),
      'unanswered calls are kept for, ms': String(unansweredMemoryMs),
      'hubs with unanswered calls': String(maxTellingHubs),
      'longest task card, characters': String(maxCardLength),
      'longest other record of the registry, characters': String(maxRecordLength),
      'deepest nesting of a record of the registry': String(maxNesting),
    })
    const bounds = section('9.3 Checking arguments').replaceAll(/\s+/g, ' ')
    for (const bound of Object.values(foreignBounds)) expect(bounds).toContain(` ${bound} `)
  })
})

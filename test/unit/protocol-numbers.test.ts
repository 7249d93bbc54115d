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
import { read, rowsOf, section } from '../support/protocol-document.ts'
import { jobQueue, sentBy } from '../support/sent-commands.ts'

describe('PROTOCOL.md', () => {
  it('has the numbers of the code', async () => {
    const { maxPayloadBytes, maxBacklog, leaseMs, maxBlockedMs, graceMs } = settingsTable
    const numbers = Object.fromEntries(rowsOf(section('12. Numbers')))
    const { numbers: ofVectors } = JSON.parse(read('clients/vectors/numbers.json'))
    expect(numbers).toEqual(Object.fromEntries(Object.entries(ofVectors).map(([name, value]) => [name, String(value)])))
    const cancel = await sentBy((queue, client) => queue.cancel(client, '', ''))
    const beat = await sentBy((queue, client) => queue.beat(client, '', 4000, true, { reports: true, moves: true }))
    const claim = await sentBy((queue, client) => queue.claim(client, '', { slots: 1, jobs: 0 }))
    const adopt = await sentBy((queue, client) => queue.adopt(client, '', ''))
    expect(numbers['memory of a cancellation, ms']).toBe(cancel.args.at(-1))
    expect(numbers['memory of a cancellation, ms']).toBe(beat.args.at(3))
    expect(numbers['a worker that reports its queue is replaced after, ms']).toBe(beat.args.at(4))
    expect(numbers['a worker that looks after what is due is replaced after, ms']).toBe(beat.args.at(5))
    expect(numbers['requests moved per adoption']).toBe(adopt.args.at(2))
    expect(numbers['one answer or one write, bytes']).toBe(adopt.args.at(3))
    expect(numbers['dead jobs of a queue']).toBe(adopt.args.at(4))
    expect(numbers['life of a dead job, ms']).toBe(adopt.args.at(5))
    const waits = await sentBy((_, client) => jobQueue().await(client, 'a', 't', 'h'))
    expect(numbers['who waits for one job']).toBe(waits.args.at(2))
    const forwarded = await sentBy((_, client) => jobQueue().forward(client, 'x'))
    expect(numbers['a job that came from another queue is known for, ms']).toBe(forwarded.args.at(0))
    const opened = await sentBy((_, client) => jobQueue().openBatch(client, 'b', '', ''))
    expect(numbers['a batch that is not closed is forgotten after, ms']).toBe(opened.args.at(-1))
    expect(read('src/queue/lua/shared-jobs.lua')).toContain(`max_failures = ${numbers['failures that a job keeps']}\n`)
    expect(read('src/queue/lua/adopt.lua')).toContain(`max_losses = ${numbers['workers a request may lose']}\n`)
    expect(numbers['one answer or one write, bytes']).toBe(claim.args.at(3))
    expect(numbers).toMatchObject({
      'deepest nesting of arguments and results': String(maxDepth),
      'largest arguments or result, bytes': String(maxPayloadBytes.fallback),
      'longest `tracestate`, characters': String(maxTracestate),
      'longest backlog a hub pushes to': String(maxBacklog.fallback),
      'shortest interval after which a list stands, ms': String(leastIntervalMs),
      'the same, in runs': String(intervalRuns),
      'the same, as a part of the longest time that calls have left': String(intervalPart),
      'target of a list that stands, in rounds of the slots': String(targetSlots),
      'the same, at least, ms': String(targetMs),
      'beat, ms': String(beatMs),
      'lease, ms': String(leaseMs.fallback),
      'beats per lease, at least': String(beatsPerLease),
      'longest time without a turn of the loop in which the lease is kept, ms': String(maxBlockedMs.fallback),
      'block of `BLPOP` and `BLMOVE`, s': String(blockSeconds),
      'memory of a push number, ms': String(pushMemoryMs),
      'life of a reply list after its last reply, ms': String(replyTtlMs),
      'time for a handler after its deadline, ms': String(abandonAfterMs),
      'tries after the first one of a job': String(defaultRetries),
      "longest message of a job's failure, characters": String(maxJobFailure),
      'a job runs for, at the most, ms': String(defaultJobTimeoutMs),
      'default `timeoutMs`': String(defaultTimeoutMs),
      'longest time of a call, ms': String(maxTimeoutMs),
      'grace when leaving, ms': String(graceMs.fallback),
      'cards are rewritten every, ms': String(republishMs),
      'records of the registry that are looked at with that': String(page),
      'workers that write statistics with every beat': String(tellingAtOnce),
      'beats from statistics to statistics, at most': String(mostBeats),
      'live workers of a queue that a caller looks at first': String(livePage),
      'a task nobody takes is waited for, ms': String(unservedPatienceMs),
      'longest use of a route, ms': String(staleMs),
      'a slice of the windows of statistics, ms': String(sliceMs),
      'slices of a window': String(sliceCount),
      'tasks with a window of their own': String(maxWindows),
      'longest windows of a worker, characters': String(maxWindowsLength),
      'slow calls of a task': String(maxKeptCalls),
      'tasks with slow calls': String(maxKeptTasks),
      'memory of slow calls, ms': String(slowMemoryMs),
      'services that call a task, by name': String(maxCallers),
      'recent failures of a task': String(maxKeptCalls),
      'tasks with recent failures': String(maxKeptTasks),
      'memory of recent failures, ms': String(failureMemoryMs),
      'longest message of a recent failure, characters': String(maxFailureMessage),
      'longest recent failures of a worker, characters': String(maxFailuresLength),
      'tasks with unanswered calls of a hub': String(maxUnansweredTasks),
      'longest message of an unanswered call, characters': String(maxUnansweredMessage),
      'longest unanswered calls of a hub, characters': String(maxUnansweredLength),
      'memory of unanswered calls, ms': String(unansweredMemoryMs),
      'hubs whose unanswered calls are listed': String(maxTellingHubs),
      'longest task card, characters': String(maxCardLength),
      'longest other record of the registry, characters': String(maxRecordLength),
      'deepest nesting of a record of the registry': String(maxNesting),
    })
    const bounds = section('9.3 Checking arguments')
    for (const bound of Object.values(foreignBounds)) expect(bounds).toContain(` ${bound} `)
  })
})

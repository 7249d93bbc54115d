import { readdirSync } from 'node:fs'
import fc from 'fast-check'
import type { Command } from 'ioredis'
import { describe, expect, it } from 'vitest'
import { Registrar, republishMs } from '../../src/catalogue/registrar.ts'
import { maxCallers } from '../../src/figures/callers.ts'
import { Events } from '../../src/figures/events.ts'
import { maxKeptCalls, maxKeptTasks } from '../../src/figures/kept-calls.ts'
import {
  type Failure,
  failureMemoryMs,
  maxFailureMessage,
  maxFailuresLength,
  parseFailures,
  RecentFailures,
} from '../../src/figures/recent-failures.ts'
import { type SlowCall, SlowCalls, slowMemoryMs } from '../../src/figures/slow-calls.ts'
import { maxWindows, maxWindowsLength, sliceCount, sliceMs, TaskStats } from '../../src/figures/task-stats.ts'
import { intervalPart, intervalRuns, leastIntervalMs, targetMs, targetSlots } from '../../src/hub/forecast.ts'
import { staleMs } from '../../src/hub/routes.ts'
import { defineTask } from '../../src/index.ts'
import { defaultRetries } from '../../src/jobs/backoff.ts'
import { unrun } from '../../src/jobs/verdict.ts'
import { RedisGuards } from '../../src/queue/guards.ts'
import { JobQueue } from '../../src/queue/job-queue.ts'
import { pushMemoryMs, Queue, replyTtlMs } from '../../src/queue/queue.ts'
import type { Redis } from '../../src/redis/connection.ts'
import { blockSeconds } from '../../src/redis/connections.ts'
import { functionOf, operations, run } from '../../src/redis/library.ts'
import { readSettings, settingsTable } from '../../src/settings/read.ts'
import { foreignBounds } from '../../src/task/schema.ts'
import { cardOf, defaultJobTimeoutMs, defaultTimeoutMs, maxTimeoutMs } from '../../src/task/task.ts'
import { errorTable, type ToldError } from '../../src/wire/errors.ts'
import { maxCardLength, maxNesting, maxRecordLength } from '../../src/wire/foreign.ts'
import { newId } from '../../src/wire/ids.ts'
import { jobPartText, maxFailureMessage as maxJobFailure } from '../../src/wire/job-part.ts'
import { isId, isNamespace, isQueueName, makeKeys } from '../../src/wire/keys.ts'
import {
  decodeReply,
  decodeRequest,
  errorReply,
  jobBody,
  maxTracestate,
  okReply,
  requestBody,
  requestTail,
  stamped,
} from '../../src/wire/message.ts'
import { parseCalledName, tryParseTaskName } from '../../src/wire/names.ts'
import { maxDepth } from '../../src/wire/payload.ts'
import { RedisClock } from '../../src/wire/redis-clock.ts'
import { Measures } from '../../src/worker/measures.ts'
import { beatMs, beatsPerLease } from '../../src/worker/roles/beat.ts'
import { abandonAfterMs } from '../../src/worker/run.ts'
import { Slots } from '../../src/worker/slots.ts'
import { unservedPatienceMs } from '../../src/worker/unserved.ts'
import { examples, protocol, read, root, rowsOf, section, unquoted } from '../support/protocol-document.ts'

/** What the code sends for one operation of the queue `<queue>`. */
const sentBy = async (operate: (queue: Queue, client: Redis) => Promise<unknown>) => {
  let sent: string[] = []
  // A full Redis refuses plain replies, which then go by their function.
  const sendCommand = async ({ name, args }: Command) => {
    if (name !== 'fcall') throw Object.assign(new Error('OOM'), { name: 'ReplyError' })
    sent = args.slice(1).map(String)
    return []
  }
  const client = { sendCommand }
  await operate(new Queue('<queue>', makeKeys('pshub')), client as unknown as Redis).catch(() => undefined)
  const keyCount = Number(sent[0])
  return { keys: sent.slice(1, keyCount + 1), args: sent.slice(keyCount + 1) }
}

const guardsOf = (client: Redis) => new RedisGuards({ send: work => work(client) }, makeKeys('pshub'))
const jobQueue = () => new JobQueue('<queue>', makeKeys('pshub'))

/** How many arguments an entry of a function's list is. */
const entryLength = (list: string): number => ({ pairs: 2, triples: 3, fives: 5 })[list.split(' ')[0]!] ?? 1

describe('PROTOCOL.md', () => {
  it('has the error table of the code', () => {
    const rows = rowsOf(section('7. Errors')).map(([code, ...rest]) => [unquoted(code!), ...rest])
    const expected = Object.entries(errorTable).map(([code, { ran, retryable, status, meaning }]) => [
      code,
      ran,
      retryable ? 'yes' : 'no',
      String(status),
      meaning,
    ])
    expect(rows).toEqual(expected)
  })

  it('names every key as the code does', () => {
    const keys = makeKeys('pshub')
    const { held, pushed, enqueued, job, batch, batchEnded, came, unique, inspect, shown, ...lists } =
      keys.queue('<queue>')
    const all = [
      keys.tasks,
      keys.workers,
      keys.stats,
      keys.taskStats,
      keys.slow,
      keys.failures,
      ...Object.values(lists),
    ]
    all.push(job('<job>'), batch('<batch>'), batchEnded('<batch>'), came('<job>'), unique('<text>'))
    all.push(held('<worker>'), pushed('<hub>'), enqueued('<hub>'), keys.reply('<hub>'), keys.read('<hub>'))
    all.push(inspect('<worker>'), shown('<ticket>'))
    all.push(keys.lock('<name>'), keys.rate('<name>'), keys.told('<name>'))
    expect(
      rowsOf(section('2. Keys'))
        .map(([key]) => unquoted(key!))
        .sort(),
    ).toEqual(all.sort())
    // And nowhere in its text another one.
    const named = protocol.replaceAll(/^ACL .*$/gm, '').matchAll(/pshub:[a-z{][\w:{}<>-]*/g)
    const known = all.map(key => key.replace(/<\w+>/g, '*'))
    for (const [key] of named) {
      const shape = key.replace(/<[^>]*>?/g, '*').replace(/\{[\w-]{20,}\}/, '{*}')
      expect(known, key).toContain(shape)
    }
  })

  it('has the patterns of names and ids', () => {
    const patterns = new Map(rowsOf(section('3. Names and ids')).map(([what, pattern]) => [what, unquoted(pattern!)]))
    const checks: [string, (text: string) => boolean][] = [
      ['namespace', isNamespace],
      ['queue', isQueueName],
      ['id', isId],
      ['task', text => tryParseTaskName(text) !== undefined],
      ['task as called', text => parseCalledName(text) !== undefined],
    ]
    expect([...patterns.keys()]).toEqual(checks.map(([what]) => what))
    for (const [what, check] of checks) {
      const pattern = new RegExp(`^(?:${patterns.get(what)})$`)
      const close = fc.stringMatching(new RegExp(`^(?:${patterns.get(what)})$`))
      const nearby = fc
        .tuple(close, fc.constantFrom('', '\n', ' ', ':', '.', 'é', '}', '-', 'a'.repeat(64)))
        .map(parts => parts.join(''))
      fc.assert(
        fc.property(fc.oneof(close, nearby, fc.string()), text => {
          expect(check(text), `${what}: ${JSON.stringify(text)}`).toBe(pattern.test(text))
        }),
      )
    }
    expect(newId()).toMatch(/^[A-Za-z0-9_-]{22}$/)
  })

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
    expect(read('src/queue/lua/shared.lua')).toContain(`max_failures = ${numbers['failures that a job keeps']}\n`)
    expect(read('src/queue/lua/adopt.lua')).toContain(`max_losses = ${numbers['workers a request may lose']}\n`)
    expect(numbers['one answer or one write, bytes']).toBe(claim.args.at(-1))
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
      'longest task card, characters': String(maxCardLength),
      'longest other record of the registry, characters': String(maxRecordLength),
      'deepest nesting of a record of the registry': String(maxNesting),
    })
    const bounds = section('9.3 Checking arguments')
    for (const bound of Object.values(foreignBounds)) expect(bounds).toContain(` ${bound} `)
  })

  it('says the same about each function as its header', () => {
    const files = readdirSync(new URL('src/queue/lua/', root)).filter(file => file !== 'shared.lua')
    expect(files.sort()).toEqual(operations.map(operation => `${operation}.lua`).sort())
    const rows = rowsOf(section('13. Functions'))
    expect(rows.map(([file]) => unquoted(file!)).sort()).toEqual(operations.map(functionOf).sort())
    for (const [file, keyCount, argCount, list] of rows) {
      const text = read(`src/queue/lua/${unquoted(file!).replace('pshub_1_', '')}.lua`)
      const header = text.split('\n').filter(line => line.startsWith('-- '))
      const keyShapes = header.flatMap(line => /^-- KEYS\[\d+\] +\w+ +(\S.*)$/.exec(line)?.[1] ?? [])
      const argLines = header.filter(line => /^-- ARGV\[\d+\] /.test(line))
      const listLines = header.filter(line => /^-- ARGV\[\d+(\.\.\] |\], ARGV.*(pairs|triples|fives))/.test(line))
      expect([String(keyShapes.length), String(argLines.length)], file).toEqual([keyCount, argCount])
      expect(listLines.length, `${file} takes a list`).toBe(list === 'none' ? 0 : 1)
      if (listLines[0]) expect(listLines[0]).toMatch(new RegExp(`^-- ARGV\\[${Number(argCount) + 1}(\\.\\.)?\\]`))
      // The table of the function itself: key shapes in order, and as many numbered arguments.
      const own = protocol.split(`**${file}** `)[1]!.split('\n\n')[1]!
      const [keys, args] = own.split('\n').slice(2)
      expect(
        [...keys!.matchAll(/`([^`]+)`/g)].map(match => match[1]),
        file,
      ).toEqual(keyShapes)
      expect(args!.match(/[ ;] ?\d(\.\.)? /g)?.length ?? 0, file).toBe(argLines.length + listLines.length)
      // And what the code really uses is no more than what is documented.
      const code = text.split('\n').filter(line => !line.startsWith('--'))
      const used = (name: string) =>
        Math.max(
          0,
          ...[...code.join('\n').matchAll(new RegExp(`${name}\\[(\\d+)\\]`, 'g'))].map(match => Number(match[1])),
        )
      expect(used('KEYS'), file).toBe(keyShapes.length)
      const perEntry = entryLength(list!)
      expect(used('ARGV'), file).toBeLessThanOrEqual(argLines.length + listLines.length * perEntry)
    }
  })

  it('lists the keys of each function in the order in which the code sends them', async () => {
    const senders: Record<string, (queue: Queue, client: Redis) => Promise<unknown>> = {
      push: (queue, client) => queue.push(client, '<hub>', 1, 1, ['']),
      claim: (queue, client) => queue.claim(client, '<worker>', { slots: 1, jobs: 1 }),
      reply: (queue, client) => queue.reply(client, '<hub>', ['']),
      beat: (queue, client) => queue.beat(client, '<worker>', 1, true),
      handback: (queue, client) => queue.handback(client, '<worker>', 'tail', ['a']),
      leave: (queue, client) => queue.leave(client, '<worker>', ['a']),
      adopt: (queue, client) => queue.adopt(client, '<lost worker>', '<this worker>'),
      cancel: (queue, client) => queue.cancel(client, 'a', ''),
      enqueue: (_, client) => jobQueue().enqueue(client, '<hub>', 1, ['']),
      due: (_, client) => jobQueue().moveDue(client),
      settle: (_, client) => jobQueue().settle(client, '<worker>', [unrun('a', 'expired')]),
      forward: (_, client) => jobQueue().forward(client, ''),
      batch: (_, client) => jobQueue().openBatch(client, 'a', '', ''),
      withdraw: (_, client) => jobQueue().withdraw(client, 'a'),
      schedule: (_, client) => jobQueue().schedule(client, 'a', '{}', 1),
      tick: (_, client) => jobQueue().tick(client, 'a', 1, 2, ''),
      await: (_, client) => jobQueue().await(client, '<job>', 'a', 'b'),
      revive: (_, client) => jobQueue().revive(client, [{ dead: '', message: '' }]),
      declare: (queue, client) => {
        const tasks = [defineTask('task:1.0', {}, () => 1)]
        const settings = readSettings('worker', {})
        const registrar = new Registrar({ keys: makeKeys('pshub'), queue, tasks, settings, events: new Events() })
        const stats = { seen: 1, busy: 0, draining: false, counters: {} as never }
        const measured = () => ({ tasks: undefined, slow: undefined, failures: undefined })
        return registrar.publish(client, '<worker>', 1, { stats, measured })
      },
      lock: (_, client) => guardsOf(client).lock('<name>', '<worker>', 1, true),
      admit: (_, client) => guardsOf(client).admit('<name>', 1, 1, true),
      denied: (_, client) => run(client, 'denied', [], ['worker', 'pshub', 'default']),
      revision: (_, client) => run(client, 'revision', [], []),
    }
    for (const [file, , argCount, list] of rowsOf(section('13. Functions'))) {
      const { keys, args } = await sentBy(senders[unquoted(file!).replace('pshub_1_', '')]!)
      const [shapes] = protocol.split(`**${file}** `)[1]!.split('\n\n')[1]!.split('\n').slice(2)
      expect(keys, file).toEqual([...shapes!.matchAll(/`([^`]+)`/g)].map(match => match[1]))
      const entries = list === 'none' ? 0 : entryLength(list!)
      expect(args.length, file).toBe(Number(argCount) + entries)
    }
  })

  it('shows requests that a worker reads, written as the code writes them', () => {
    const [text, jobText, ...more] = examples('request')
    expect(more).toEqual([])
    const job = decodeRequest(jobText!, undefined, 'pshub')
    expect(job).toMatchObject({ job: { tries: 1, retries: 5, keep: 60_000 }, from: 'shop' })
    const part = jobPartText(JSON.parse(jobText!).job)
    const jobTail = requestTail(undefined, job.from)
    const own = jobBody(job.id, part, job.task, JSON.stringify(job.args), jobTail)
    expect(stamped(String(job.atUs), 0, own)).toBe(jobText)
    const request = decodeRequest(text!, undefined, 'pshub')
    expect(request).toMatchObject({ task: 'my_task:1.0', ttlMs: 5000, args: { x: 1 }, from: 'shop', text })
    const tail = requestTail(makeKeys('pshub').reply(request.hubId!), request.from, request)
    const body = requestBody(request.id, request.task, request.idempotent, JSON.stringify(request.args), tail)
    expect(stamped(String(request.atUs), request.ttlMs, body)).toBe(text)
  })

  it('shows replies that a caller reads, written as the code writes them', () => {
    const texts = examples('reply')
    expect(texts).toHaveLength(2)
    for (const text of texts) {
      const reply = decodeReply(text)!
      const written = reply.ok
        ? okReply(reply.id, JSON.stringify(reply.result), reply.worker!, reply.us!)
        : errorReply({ id: reply.id, task: '', mayHaveRun: false }, reply.error as ToldError, reply.worker!, reply.us)
      expect(written).toBe(text)
    }
  })

  it('shows cards as workers publish them', () => {
    const card = JSON.parse(examples('task card')[0]!)
    const { task, queue, at, digest: _, maxPayloadBytes, maxBacklog, ...options } = card
    const declared = cardOf(
      defineTask(task, { ...options }, () => null),
      queue,
      { maxPayloadBytes, maxBacklog },
      at,
    )
    expect(JSON.stringify(card)).toBe(JSON.stringify(declared))
    const worker = JSON.parse(examples('worker card')[0]!)
    expect(Object.keys(worker)).toEqual(['id', 'queue', 'host', 'pid', 'slots', 'tasks', 'client', 'started'])
    expect(worker.tasks).toEqual({ [task]: card.digest })
    const stats = JSON.parse(examples('stats')[0]!)
    const measured = new Measures({
      queueName: 'q',
      slots: new Slots(1, 1),
      clock: new RedisClock(),
      events: new Events(),
    }).stats()
    expect(Object.keys(stats).sort()).toEqual(['seen', 'draining', ...Object.keys(measured)].sort())
    expect(Object.keys(stats.loopMs)).toEqual(Object.keys(measured.loopMs!))
    expect(Object.keys(stats.counters)).toEqual(['ok', 'failed', 'expired', 'malformed', 'unserved'])
  })

  it('shows what tasks did as workers publish it', () => {
    const stats = new TaskStats(0)
    const us = (backlog: number, queue: number, exec: number) => ({ backlog, queue, exec })
    for (let n = 0; n < 117; n++) stats.ran('my_task:1.0', undefined, us(1, 1, 1), 0, 'shop')
    stats.ran('my_task:1.0', 'TaskFailed', us(1, 1, 1), 0, 'cron')
    for (let n = 0; n < 5; n++) stats.ran('seldom:2.1', undefined, us(1, 1, 1), 9_999)
    stats.ran('my_task:1.0', undefined, us(400, 28, 1200), 10_000, 'shop')
    stats.expired('my_task:1.0', 20_000, 'shop')
    stats.ran('my_task:1.0', undefined, us(472, 37, 1200), 20_000, 'cron')
    stats.ran('my_task:1.0', undefined, us(560, 38, 1230), 60_000)
    expect(examples('task statistics')).toEqual([stats.text(67_210)])
  })

  it('shows slow calls as workers publish them', () => {
    const [text, ...more] = examples('slow calls')
    expect(more).toEqual([])
    const slow = new SlowCalls()
    const [[task, [call]]] = Object.entries(JSON.parse(text!)) as [[string, [SlowCall]]]
    slow.keep(task, call, 0)
    expect(slow.text(0)).toBe(text)
  })

  it('shows recent failures as workers publish them', () => {
    const [text, ...more] = examples('failures')
    expect(more).toEqual([])
    const failures = new RecentFailures()
    const [[task, [failure]]] = Object.entries(JSON.parse(text!)) as [[string, [Failure]]]
    failures.keep(task, failure, 0)
    expect(failures.text(0)).toBe(text)
    expect(parseFailures(JSON.parse(text!), { [task]: '' })).toEqual({ [task]: [failure] })
  })

  it('lists the golden files that there are', () => {
    const listed = rowsOf(section('16. Test vectors')).map(([file]) => unquoted(file!))
    expect(listed.sort()).toEqual(readdirSync(new URL('clients/vectors/', root)).sort())
  })
})

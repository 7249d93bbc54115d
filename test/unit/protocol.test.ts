import { readdirSync } from 'node:fs'
import fc from 'fast-check'
import type { Redis } from 'ioredis'
import { describe, expect, it } from 'vitest'
import { FieldWrites, Registrar } from '../../src/catalogue/registrar.ts'
import { Events } from '../../src/figures/events.ts'
import { LoopDelay } from '../../src/figures/loop-delay.ts'
import { type Failure, parseFailures, RecentFailures } from '../../src/figures/recent-failures.ts'
import { type SlowCall, SlowCalls } from '../../src/figures/slow-calls.ts'
import { TaskStats } from '../../src/figures/task-stats.ts'
import { defineTask } from '../../src/index.ts'
import { unrun } from '../../src/jobs/verdict.ts'
import { beatAll } from '../../src/queue/beats.ts'
import { RedisGuards } from '../../src/queue/guards.ts'
import type { Queue } from '../../src/queue/queue.ts'
import { noteShards, unsharded } from '../../src/queue/shards.ts'
import * as library from '../../src/redis/library.ts'
import * as rights from '../../src/redis/rights.ts'
import { readSettings } from '../../src/settings/read.ts'
import { cardOf } from '../../src/task/card.ts'
import * as formats from '../../src/task/formats.ts'
import * as keywords from '../../src/task/schema-keywords.ts'
import * as errors from '../../src/wire/errors.ts'
import { newId } from '../../src/wire/ids.ts'
import { jobPartText } from '../../src/wire/job-part.ts'
import * as keyNames from '../../src/wire/keys.ts'
import {
  decodeReply,
  decodeRequest,
  errorReply,
  jobBody,
  okReply,
  type Reply,
  requestBody,
  requestTail,
  stamped,
} from '../../src/wire/message.ts'
import { parseCalledName, tryParseTaskName } from '../../src/wire/names.ts'
import { RedisClock } from '../../src/wire/redis-clock.ts'
import { Measures } from '../../src/worker/measures.ts'
import { SlotPool } from '../../src/worker/slot-pool.ts'
import { Slots } from '../../src/worker/slots.ts'
import { documentedKeys, headerOf, protocolText, wordsByHand } from '../../tools/protocol.mjs'
import { examples, protocol, read, root, rowsOf, section, unquoted } from '../support/protocol-document.ts'
import { jobQueue, sentBy } from '../support/sent-commands.ts'

const { operations, run } = library
const { isId, isNamespace, isQueueName, makeKeys } = keyNames
/** What the tables are made of. */
const sources = { ...keyNames, ...errors, ...rights, ...library, ...keywords, ...formats }

const guardsOf = (client: Redis) => new RedisGuards({ send: work => work(client) }, makeKeys('pshub'))

/** How many arguments an entry of a function's list is. */
const entryLength = (list: string): number =>
  ({ pairs: 2, threes: 3, triples: 3, sixes: 6, sevens: 7 })[/^\w+/.exec(list)![0]] ?? 1

/** The arguments that a function always has, and how many one entry of its list is. */
const countsOf = (operation: string): [single: number, perEntry: number] => {
  const { args } = headerOf(operation)
  const list = args.find(({ place }) => place.endsWith('..'))
  return [args.length - (list ? 1 : 0), list ? entryLength(list.text!) : 0]
}

describe('PROTOCOL.md', () => {
  it('has the tables that the code writes, and at most 13,000 words by hand', () => {
    expect(protocol === protocolText(sources), 'the tables of PROTOCOL.md are out of date: run `npm run docs`').toBe(
      true,
    )
    expect(wordsByHand(protocol)).toBeLessThanOrEqual(13_000)
  })

  it('names no key that there is not', () => {
    const known = documentedKeys(sources).map(({ key }) => key.replaceAll(/<\w+>/g, '*'))
    const named = protocol.replaceAll(/^ACL .*$/gm, '').matchAll(/pshub:[a-z{][\w:{}<>-]*/g)
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

  it('has a header for each function that names what the function uses', () => {
    const files = readdirSync(new URL('src/queue/lua/', root)).filter(file => /^(?!shared).*\.lua$/.test(file))
    expect(files.sort()).toEqual(operations.map(operation => `${operation}.lua`).sort())
    for (const operation of operations) {
      const code = read(`src/queue/lua/${operation}.lua`).replaceAll(/^--.*$/gm, '')
      const used = (name: string) =>
        Math.max(0, ...[...code.matchAll(new RegExp(`${name}\\[(\\d+)\\]`, 'g'))].map(match => Number(match[1])))
      const [single, perEntry] = countsOf(operation)
      // The keys of several queues are not named one by one.
      if (operation !== 'beats') expect(used('KEYS'), operation).toBe(headerOf(operation).keys.length)
      expect(used('ARGV'), operation).toBeLessThanOrEqual(single + perEntry)
    }
  })

  it('sends the keys and arguments that the header of each function names', async () => {
    const merging = [{ task: 'a:1.0', batch: 1, maxPayloads: 1 }]
    const senders: Record<string, (queue: Queue, client: Redis) => Promise<unknown>> = {
      push: (queue, client) => queue.push(client, '<hub>', 1, 1, ['']),
      claim: (queue, client) => queue.claim(client, '<worker>', { slots: 1, jobs: 1, merging }),
      reply: (queue, client) => queue.reply(client, '<hub>', ['']),
      beat: (queue, client) => queue.beat(client, '<worker>', 1, true),
      beats: (queue, client) => beatAll(client, [queue.beatOf('<worker>', 1, true)]),
      handback: (queue, client) => queue.handback(client, '<worker>', 'tail', ['a']),
      leave: (queue, client) => queue.leave(client, '<worker>', ['a']),
      adopt: (queue, client) => queue.adopt(client, '<lost worker>', '<this worker>'),
      cancel: (queue, client) => queue.cancel(client, 'a', ''),
      enqueue: (_, client) => jobQueue().enqueue(client, '<hub>', 1, ['']),
      due: (_, client) => jobQueue().moveDue(client),
      settle: (_, client) => jobQueue().settle(client, '<worker>', [{ ...unrun('a', 'expired'), at: '' }]),
      forward: (_, client) => jobQueue().forward(client, ''),
      batch: (_, client) => jobQueue().openBatch(client, 'a', '', ''),
      withdraw: (_, client) => jobQueue().withdraw(client, 'a'),
      schedule: (_, client) => jobQueue().schedule(client, 'a', '{}', 1, ''),
      tick: (_, client) => jobQueue().tick(client, 'a', 1, 2, ''),
      await: (_, client) => jobQueue().await(client, '<job>', 'a', 'b'),
      key: (_, client) => jobQueue().actOnKey(client, 'a:1.0', 'b', 'run'),
      shard: (queue, client) => noteShards(client, queue.keys, unsharded('<queue>'), 0),
      revive: (_, client) => jobQueue().revive(client, [{ lying: '', message: '' }]),
      declare: (queue, client) => {
        const tasks = [defineTask('task:1.0', {}, () => 1)]
        const settings = readSettings('worker', {})
        const [keys, events] = [makeKeys('pshub'), new Events()]
        const [serves, writes] = [() => false, new FieldWrites()]
        const registrar = new Registrar({ keys, queue, tasks: () => tasks, serves, settings, events, writes })
        const stats = { seen: 1, busy: 0, draining: false, counters: {} as never }
        const measured = () => ({ tasks: undefined, slow: undefined, failures: undefined })
        return registrar.publish(client, '<worker>', 1, { stats, measured })
      },
      lock: (_, client) => guardsOf(client).lock('<name>', '<worker>', 1, true),
      admit: (_, client) => guardsOf(client).admit('<name>', 1, 1, true),
      denied: (_, client) => run(client, 'denied', [], ['worker', 'pshub', 'default']),
      revision: (_, client) => run(client, 'revision', [], []),
    }
    for (const operation of operations) {
      const { keys, args } = await sentBy(senders[operation]!)
      const [single, perEntry] = countsOf(operation)
      expect(keys, operation).toEqual(headerOf(operation).keys)
      // Behind them a word that not all workers say: that they fetch long arguments themselves.
      expect(args.length, operation).toBe(single + perEntry + (operation === 'claim' ? 1 : 0))
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
      const reply = decodeReply(text) as Reply
      const written = reply.ok
        ? okReply(reply.id, JSON.stringify(reply.result), reply.worker!, reply.us!)
        : errorReply(
            { id: reply.id, task: '', mayHaveRun: false },
            reply.error as errors.WireError,
            reply.worker!,
            reply.us,
          )
      expect(written).toBe(text)
    }
  })

  it('shows cards as workers publish them', () => {
    const card = JSON.parse(examples('task card')[0]!)
    const { task, queue, at, digest: _, maxPayloadBytes, maxBacklog, beside: _beside, ...options } = card
    const declared = cardOf(
      defineTask(task, { ...options }, () => null),
      queue,
      { maxPayloadBytes, maxBacklog },
      at,
    )
    expect(JSON.stringify(card)).toBe(JSON.stringify(declared))
    const worker = JSON.parse(examples('worker card')[0]!)
    expect(Object.keys(worker)).toEqual(['id', 'queue', 'host', 'pid', 'slots', 'tasks', 'client', 'build', 'started'])
    expect(worker.tasks).toEqual({ [task]: card.digest })
    const stats = JSON.parse(examples('stats')[0]!)
    const measured = new Measures({
      queueName: 'q',
      slots: new Slots(new SlotPool(1, 1)),
      clock: new RedisClock(),
      events: new Events(),
      loop: new LoopDelay(),
    }).stats()
    expect(Object.keys(stats).sort()).toEqual(['seen', 'draining', ...Object.keys(measured)].sort())
    expect(Object.keys(stats.loopMs)).toEqual(Object.keys(measured.loopMs!))
    expect(Object.keys(stats.counters)).toEqual(['ok', 'rejected', 'failed', 'expired', 'malformed', 'unserved'])
  })

  it('shows what tasks did as workers publish it', () => {
    const stats = new TaskStats(0)
    const us = (backlog: number, queue: number, exec: number) => ({ backlog, queue, exec })
    for (let n = 0; n < 117; n++) stats.ran('my_task:1.0', undefined, us(1, 1, 1), 0, 'shop', n < 2)
    stats.ran('my_task:1.0', { code: 'TaskFailed' }, us(1, 1, 1), 0, 'cron')
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
})

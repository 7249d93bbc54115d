import { describe, expect, it, vi } from 'vitest'
import { readTaskCard, readWorkerCard } from '../../src/catalogue/cards.ts'
import { parseWorkerRecord } from '../../src/figures/load.ts'
import { parseFailures, RecentFailures } from '../../src/figures/recent-failures.ts'
import { TaskStats } from '../../src/figures/task-stats.ts'
import { readHubUnanswered, Unanswered } from '../../src/figures/unanswered.ts'
import { Forecast } from '../../src/hub/forecast.ts'
import { explained } from '../../src/redis/refusals.ts'
import { errorTable, fromWire, type WireError } from '../../src/wire/errors.ts'
import { Unreadable } from '../../src/wire/foreign.ts'
import { PayloadProblem } from '../../src/wire/json/json-value.ts'
import { hubIdOf, isId, isNamespace, isQueueName, makeKeys } from '../../src/wire/keys.ts'
import { decodeReply, decodeRequest, MalformedMessage, told } from '../../src/wire/message.ts'
import { newestFirst, parseCalledName, parseTaskName, tryParseTaskName } from '../../src/wire/names.ts'
import { decodePayload, encodePayload } from '../../src/wire/payload.ts'
import { read } from '../support/protocol-document.ts'

/** The golden files of other languages, held against the code that they describe. */

// biome-ignore lint/suspicious/noExplicitAny: golden files of known shapes
const vectors = (file: string): any => JSON.parse(read(`clients/vectors/${file}`))

describe('golden files', () => {
  it('refusals', () => {
    for (const { message, told } of vectors('refusals.json').cases) expect(explained(message)).toBe(told)
  })

  it('names.json', () => {
    const { namespaces, queues, ids, declared, called, newestFirst: ordered } = vectors('names.json')
    const lists: [{ valid: string[]; invalid: string[] }, (text: string) => boolean][] = [
      [namespaces, isNamespace],
      [queues, isQueueName],
      [ids, isId],
    ]
    for (const [{ valid, invalid }, check] of lists) {
      expect(valid.filter(text => !check(text))).toEqual([])
      expect(invalid.filter(check)).toEqual([])
    }
    for (const { name, parsed } of declared) {
      if (parsed) expect(parseTaskName(name)).toEqual({ full: name, ...parsed })
      else expect(() => parseTaskName(name), name).toThrow('is not a task name')
      expect(tryParseTaskName(name), name).toEqual(parsed ? { full: name, ...parsed } : undefined)
    }
    for (const { name, parsed } of called) {
      const expected = parsed && {
        name: parsed.name,
        major: parsed.major ?? undefined,
        minor: parsed.minor ?? undefined,
      }
      expect(parseCalledName(name), name).toEqual(expected ?? undefined)
    }
    const shuffled = [...ordered].sort().map(parseTaskName)
    expect(shuffled.sort(newestFirst).map(({ full }) => full)).toEqual(ordered)
  })

  it('reply-lists.json', () => {
    const { namespace, cases } = vectors('reply-lists.json')
    for (const { result_queue, hubId } of cases) {
      expect(hubIdOf(result_queue, namespace) ?? null, JSON.stringify(result_queue)).toBe(hubId)
      if (hubId !== null) expect(makeKeys(namespace).reply(hubId)).toBe(result_queue)
    }
  })

  it('cards.json', () => {
    const { tasks, workers } = vectors('cards.json')
    for (const { title, text, card } of tasks) {
      if (card === null) expect(() => readTaskCard(text), title).toThrow(Unreadable)
      else {
        const {
          task,
          queue,
          timeoutMs,
          idempotent,
          keyed = null,
          args,
          maxPayloadBytes,
          maxBacklog,
        } = readTaskCard(text)
        const limits = { maxPayloadBytes: maxPayloadBytes ?? null, maxBacklog: maxBacklog ?? null }
        expect({ task, queue, timeoutMs, idempotent, keyed, args: args ?? null, ...limits }, title).toEqual(card)
      }
    }
    for (const { title, text, card } of workers) {
      if (card === null) expect(() => readWorkerCard(text), title).toThrow(Unreadable)
      else {
        const { id, slots, tasks, build = null } = readWorkerCard(text)
        expect({ id, slots, tasks, build }, title).toEqual(card)
      }
    }
  })

  it('measured.json: what workers publish', () => {
    const { taskStats, failures } = vectors('measured.json')
    for (const { title, calls, tasks } of taskStats) {
      const stats = new TaskStats(0)
      for (const { times, task, from, code, status, us } of calls)
        for (let n = 0; n < times; n++)
          if (us === null) stats.expired(task, 5, from ?? undefined)
          else stats.ran(task, code ? { code, status } : undefined, us, 5, from ?? undefined)
      expect(JSON.parse(stats.text(5)).tasks, title).toEqual(tasks)
    }
    for (const { title, failures: failed, published } of failures) {
      const recent = new RecentFailures()
      for (const { task, from, ...failure } of failed)
        recent.keep(task, { ...failure, ...(from === null ? {} : { from }) }, 0)
      expect(JSON.parse(recent.text(0)), title).toEqual(published)
      const own = Object.fromEntries(failed.map(({ task }: { task: string }) => [task, '']))
      expect(parseFailures(published, own), title).toEqual(published)
    }
  })

  it('unanswered-calls.json', () => {
    const { cases, name, host, pid } = vectors('unanswered-calls.json')
    for (const { title, steps } of cases) {
      const unanswered = new Unanswered()
      for (const { at, code, series, redisMs, ...step } of steps) {
        const where = `${title}, at ${at}`
        for (let n = 0; code && n < (series ?? 1); n++) {
          const error = { kind: code, message: step.message, id: step.id ?? undefined }
          unanswered.count(step.task.replace('{n}', String(n)), step.queue ?? undefined, error, at)
        }
        if (step.again) unanswered.again()
        if (step.changed !== undefined) expect(unanswered.isChanged(at), where).toBe(step.changed)
        if (step.recent !== undefined) expect(unanswered.hasRecent(), where).toBe(step.recent)
        if (redisMs === undefined) continue
        const text = unanswered.text(at, redisMs, { name, host, pid })
        if (step.text) expect(text, where).toBe(step.text)
        else
          expect(
            readHubUnanswered(text).tasks.map(each => each.task),
            where,
          ).toEqual(step.tasks)
      }
    }
  })

  it('measured.json: what is read of that', () => {
    const { own, callersRead, failuresRead } = vectors('measured.json')
    const card = Object.fromEntries(own.map((task: string) => [task, '']))
    for (const { title, text, callers, lastMinute } of callersRead) {
      const record = parseWorkerRecord(JSON.parse(text), card)!.tasks.get('a:1.0')!
      expect(Object.fromEntries(record.callers), title).toEqual(callers)
      expect(Object.fromEntries(record.window!.callers), title).toEqual(lastMinute)
    }
    for (const { title, text, failures } of failuresRead)
      expect(parseFailures(JSON.parse(text), card), title).toEqual(failures)
  })

  const requests = vectors('requests.json')
  for (const { title, text, heldId, request, malformed } of requests.cases) {
    it(`requests.json: ${title}`, () => {
      const decode = () => decodeRequest(text, heldId, requests.namespace, undefined, 'number')
      if (malformed !== undefined) {
        expect(decode).toThrow(MalformedMessage)
        expect(decode).toThrow(malformed)
        return
      }
      const withNulls = (read: object) =>
        Object.fromEntries(Object.entries(read).map(([key, value]) => [key, value === undefined ? null : value]))
      const { job, hasLarge, ...others } = decode()
      // What a job of another kind carries it does not say.
      const carried =
        job && Object.entries(job).filter(([key, value]) => value !== undefined || key in (request.job ?? {}))
      expect({ ...withNulls(others), job: carried ? withNulls(Object.fromEntries(carried)) : null }).toEqual({
        idempotent: false,
        mayHaveRun: request.losses > 0,
        job: null,
        then: null,
        asked: null,
        argsBeside: null,
        ...request,
        text,
      })
    })
  }

  it('marks.json', () => {
    const { read: readings, told: tellings } = vectors('marks.json')
    const decode = (text: string) => decodeRequest(text, undefined, 'pshub')
    for (const { title, text, ...marks } of readings) expect(decode(text), title).toMatchObject(marks)
    for (const { title, text, error, told: expected } of tellings)
      expect(told(decode(text), error), title).toEqual(expected)
  })

  it('forecast.json', () => {
    const orNull = (value: number | undefined) => (value === Number.POSITIVE_INFINITY ? null : (value ?? null))
    for (const { title, slots, steps } of vectors('forecast.json').cases) {
      const forecast = new Forecast()
      forecast.slots = slots
      const clock = vi.spyOn(performance, 'now')
      for (const [at, kind, a, b, c] of steps) {
        clock.mockReturnValue(at)
        if (kind === 'learn') forecast.learn(a, b, c)
        else if (kind === 'miss') forecast.miss(a, b)
        else if (kind === 'see') forecast.see(a, b, c)
        else if (kind === 'slots') forecast.slots = a
        else {
          const told = { waitMs: forecast.waitMs(b, at), patienceMs: forecast.patienceMs(a, at) }
          const known = { length: orNull(forecast.lengthAt(at)), within: orNull(forecast.lengthWithin(a, at)) }
          expect({ ...known, ...told }, `${title}, at ${at}`).toEqual(c)
        }
      }
      clock.mockRestore()
    }
  })

  it('replies.json', () => {
    for (const { title, text, reply } of vectors('replies.json').cases) {
      expect(decodeReply(text), title).toEqual(reply ?? undefined)
    }
  })

  it('errors.json', () => {
    const { table, cases } = vectors('errors.json')
    expect(table).toEqual(Object.entries(errorTable).map(([code, row]) => ({ code, ...row })))
    for (const { error, expected } of cases) {
      const { code, message, ran, retryable, status, data } = fromWire(error as WireError, {})
      expect({ code, message, ran, retryable, status, data: data ?? null }).toEqual(expected)
    }
  })

  const payloads = vectors('payloads.json')
  it('payloads.json: unchanged and rewritten', () => {
    for (const text of payloads.unchanged) expect(encodePayload(decodePayload(text))).toBe(text)
    for (const { text, to, why } of payloads.rewritten) expect(encodePayload(decodePayload(text)), why).toBe(to)
  })

  for (const { text, why } of payloads.refused) {
    it(`payloads.json: refused, ${why}`, () => {
      expect(() => decodePayload(text), text).toThrow(PayloadProblem)
    })
  }
})

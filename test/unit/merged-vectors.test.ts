import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { defineTask, PutOff, TaskError } from '../../src/index.ts'
import { stepMessage } from '../../src/jobs/chain.ts'
import { shapeOf } from '../../src/jobs/enqueue-options.ts'
import { endOf, type JobOutcome } from '../../src/jobs/verdict.ts'
import { decodeRequest } from '../../src/wire/message.ts'
import { canonicalText } from '../../src/wire/payload.ts'
import { cutRun, refusedRun, runArgs } from '../../src/worker/merged-run.ts'
import { examples } from '../support/protocol-document.ts'

const vectors = JSON.parse(readFileSync(new URL('../../clients/vectors/merged.json', import.meta.url), 'utf8'))
const { enqueued, refused, runs, refusedRuns, ends } = vectors

const merged = (options: object = {}) => defineTask('sync:1.0', { keyed: 'merged', ...options }, () => undefined)

/** As a worker reads it. */
const read = (message: string) => {
  const run = cutRun(message)
  const request = decodeRequest(run?.text ?? message, undefined, 'pshub')
  return run ? { ...request, args: run.payloads } : request
}

describe('PROTOCOL.md', () => {
  it('shows a merged job as it is enqueued, and a run as it is claimed', () => {
    const [text] = examples('merged')
    const { id, task, args, job } = decodeRequest(text!, undefined, 'pshub')
    const step = { id, task, queue: 'q', args: canonicalText(JSON.stringify(args)), ttlMs: 0, pass: undefined }
    const { part } = shapeOf(task, step.args, { key: job!.key, score: job!.score }, { keyed: 'merged' })
    const request = { from: 'shop', traceparent: 'a', tracestate: 'b' }
    expect(`{"at":1795220163659000,${stepMessage([{ ...step, job: part }], request)}`).toBe(text)
    const [run] = examples('run')
    expect(runArgs(decodeRequest(run!, undefined, 'pshub'))).toEqual([
      ['order-17', [{ version: 3 }, { version: 5 }]],
      ['order-3', [{ version: 2 }]],
    ])
    expect(cutRun(run!)!.payloads).toEqual([{ version: 3 }, { version: 5 }, { version: 2 }])
  })
})

describe('vectors of merged jobs', () => {
  it('enqueued', () => {
    for (const { title, task, args, options, scores, message } of enqueued) {
      const { part } = shapeOf(task, args, options, { keyed: 'merged', scores })
      const step = { id: 'x', task, queue: 'q', args: canonicalText(args), job: part, ttlMs: 0, pass: undefined }
      const from = { from: 'shop', traceparent: 'a', tracestate: undefined }
      expect(stepMessage([step], from), title).toBe(message.replace('<id>', 'x'))
    }
  })

  it('refused', () => {
    for (const { title, options, says } of refused)
      expect(() => shapeOf('sync:1.0', '1', options, { keyed: 'merged' }), title).toThrow(says)
  })

  it('runs', () => {
    for (const { title, message, byKey, words } of runs) {
      const run = runArgs(read(message))!
      const shown = run.map(([key, payloads]) => [key, payloads.map(each => JSON.stringify(each) ?? null)])
      expect(shown, title).toEqual(byKey)
      expect(refusedRun('job:m-7', merged(), run)?.words?.join(' '), title).toBe(words)
    }
  })

  it('refused runs', () => {
    for (const { title, schema, message, words } of refusedRuns) {
      const end = refusedRun('job:m-7', merged({ args: JSON.parse(schema) }), runArgs(read(message))!)
      expect(end?.words?.join(' ') ?? null, title).toBe(words)
    }
  })

  it('ends', () => {
    for (const { title, retries, backoff, message, outcome, how, words } of ends) {
      const task = merged({ ...(retries && { retries }), ...(backoff && { backoff }) })
      const end = endOf(read(message), task, outcomeOf(outcome), false, 'q')
      expect([end!.outcome, end!.words?.join(' ') ?? null], title).toEqual([how, words])
    }
  })
})

const outcomeOf = ({ ok, code, isFinal, putOffMs }: Record<string, never>): JobOutcome => {
  if (ok) return { ok: true, result: 'null' }
  const thrown = putOffMs === undefined ? new TaskError('no', { retryable: !isFinal }) : new PutOff(putOffMs)
  return { ok: false, error: { code: code ?? 'TaskFailed', message: 'no', retryable: false }, thrown }
}

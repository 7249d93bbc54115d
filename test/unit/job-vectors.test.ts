import { describe, expect, it } from 'vitest'
import { delayAfter } from '../../src/jobs/backoff.ts'
import { followingOf } from '../../src/jobs/chain.ts'
import { shapeOf } from '../../src/jobs/enqueue-options.ts'
import { hastenedMessage, revivedMessage } from '../../src/jobs/job-text.ts'
import { failureText, jobPartText } from '../../src/wire/job-part.ts'
import { decodeRequest } from '../../src/wire/message.ts'
import { read } from '../support/protocol-document.ts'

/** The golden file of jobs, held against the code that it describes. */
const { delays, parts, failures, uniques, following, revived, hastened } = JSON.parse(read('clients/vectors/jobs.json'))

describe('jobs.json', () => {
  it('has cases of everything', () => {
    for (const cases of [delays, parts, failures, uniques, following, revived, hastened])
      expect(cases.length).toBeGreaterThan(4)
  })

  it('delays', () => {
    for (const { backoff, failures, random, ms } of delays)
      expect(delayAfter(backoff, failures, random), `${JSON.stringify(backoff)} ${failures}`).toBe(ms)
  })

  it('parts', () => {
    for (const { title, part, text } of parts) {
      expect(jobPartText(part), title).toBe(text)
      expect(JSON.parse(text), title).toEqual(part)
    }
  })

  it('failures', () => {
    for (const { text, ...failure } of failures) expect(failureText(failure)).toBe(text)
  })

  it('uniques', () => {
    for (const { task, args, unique } of uniques)
      expect(shapeOf(task, args, { unique: true }, {}).part?.unique, args).toBe(unique)
  })

  it('following', () => {
    for (const { title, request, result, following: expected } of following)
      expect(followingOf(decodeRequest(request, undefined, 'pshub'), result, 'q'), title).toBe(expected)
  })

  it('hastened', () => {
    for (const { title, lying, message } of hastened) expect(hastenedMessage(lying), title).toBe(message)
  })

  it('revived', () => {
    for (const { title, dead, args, message } of revived) expect(revivedMessage(dead, args), title).toBe(message)
  })
})

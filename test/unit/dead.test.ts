import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { revivedMessage } from '../../src/jobs/job-text.ts'
import { jobPartText } from '../../src/wire/job-part.ts'
import { jobBody, requestTail, stamped } from '../../src/wire/message.ts'
import { encodePayload } from '../../src/wire/payload.ts'
import { anyJson, hasProto } from '../support/any-json.ts'

const failed = { tries: 3, errors: [{ at: 1, code: 'TaskFailed', message: 'a "brace" { and ] \\' }] }

describe('a dead job that gets another chance', () => {
  const tail = requestTail(undefined, 'shop {1}')
  const dead = (args: string, losses = '') =>
    stamped('1795220163659000', 500, jobBody('x', jobPartText({ ...failed, keep: 5 }), 't:1.0', args, tail)).replace(
      /\}$/,
      `${losses}}`,
    )

  it('is what it was, wanted for ever, its tries counted anew', () => {
    fc.assert(
      fc.property(
        anyJson.filter(value => !hasProto(value)),
        fc.constantFrom('', ',"losses":3'),
        (args, losses) => {
          const message = revivedMessage(dead(encodePayload(args), losses))
          const expected = JSON.parse(dead(encodePayload(args)))
          const { at: _, ...rest } = expected
          expect(JSON.parse(`{${message}`)).toEqual({ ...rest, ttl: 0, job: { ...expected.job, tries: 0 } })
          expect(message).toContain(`"args":${encodePayload(args)},"from"`)
        },
      ),
    )
  })

  it('may get other arguments', () => {
    fc.assert(
      fc.property(
        anyJson.filter(value => !hasProto(value)),
        anyJson.filter(value => !hasProto(value)),
        (args, others) => {
          const message = revivedMessage(dead(encodePayload(args)), encodePayload(others))
          expect(message).toContain(`"task":"t:1.0","args":${encodePayload(others)},"from":"shop {1}"}`)
          expect(JSON.parse(`{${message}`)).toMatchObject({ id: 'x', job: { keep: 5 }, from: 'shop {1}' })
        },
      ),
    )
  })

  it('has no part of its own where it had none, and goes as it is where somebody else put it there', () => {
    expect(revivedMessage('{"at":1,"ttl":0,"id":"x","task":"t:1.0"}')).toBe('"ttl":0,"id":"x","task":"t:1.0"}')
    expect(revivedMessage(' {"task":"t:1.0"}')).toBe('"task":"t:1.0"}')
  })
})

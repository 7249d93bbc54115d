import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { newId } from '../../src/wire/ids.ts'
import { maxDepth, PayloadProblem } from '../../src/wire/json/json-value.ts'
import { hubIdOf, isId, makeKeys } from '../../src/wire/keys.ts'
import {
  decodeReply,
  decodeRequest,
  MalformedMessage,
  requestBody,
  requestTail,
  stamped,
} from '../../src/wire/message.ts'
import { decodePayload, encodePayload } from '../../src/wire/payload.ts'
import { anyJson, anyText, depthOf, hasProto } from '../support/any-json.ts'

/** What holds for every payload, reply list name and list element there can be. */

/** JSON text with the escapes and spaces that other writers use. */
const respelled = (value: unknown, isEscaped: (char: string) => boolean): string => {
  const spell = (text: string) =>
    `"${[
      ...JSON.stringify(text)
        .slice(1, -1)
        .matchAll(/\\u....|\\.|./gs),
    ]
      .map(([char]) =>
        char.length === 1 && isEscaped(char) ? `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}` : char,
      )
      .join('')}"`
  if (typeof value === 'string') return spell(value)
  if (Array.isArray(value)) return `[ ${value.map(inner => respelled(inner, isEscaped)).join(' , ')}]`
  if (typeof value === 'object' && value !== null) {
    return `{${Object.entries(value).map(([key, inner]) => ` ${spell(key)} : ${respelled(inner, isEscaped)}`)} }`
  }
  return JSON.stringify(value)
}

const attempt = <T>(work: () => T): { value: T } | { refused: PayloadProblem } => {
  try {
    return { value: work() }
  } catch (error) {
    if (error instanceof PayloadProblem) return { refused: error }
    throw error
  }
}

describe('any payload', () => {
  it('comes back equal, or is refused for its __proto__ key', () => {
    fc.assert(
      fc.property(anyJson, value => {
        const encoded = attempt(() => encodePayload(value))
        expect('refused' in encoded).toBe(hasProto(value))
        if ('refused' in encoded) {
          expect(encoded.refused.problem.message).toContain('__proto__')
          return
        }
        // Large integers have more digits than JSON.stringify writes.
        expect(JSON.parse(encoded.value)).toEqual(JSON.parse(JSON.stringify(value)))
        expect(decodePayload(encoded.value)).toEqual(value)
      }),
      { numRuns: 500 },
    )
  })

  it('is judged the same however its texts are spelled', () => {
    fc.assert(
      fc.property(anyJson, fc.integer({ min: 1, max: 5 }), (value, every) => {
        let count = 0
        const text = respelled(value, () => ++count % every === 0)
        const decoded = attempt(() => decodePayload(text))
        expect('refused' in decoded, text).toBe(hasProto(value))
        if ('value' in decoded) expect(decoded.value).toEqual(value)
      }),
      { numRuns: 500, examples: [[JSON.parse('{"__proto__":1}'), 3]] },
    )
  })

  it('is refused from 65 levels on, wherever they are and whatever else has brackets', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.integer({ min: 0, max: 200 }), fc.integer({ min: maxDepth - 3, max: maxDepth + 3 })),
        fc.array(fc.boolean(), { minLength: 200, maxLength: 200 }),
        anyJson.filter(value => !hasProto(value)),
        fc.array(fc.constantFrom('[', ']', '{', '}', '"', '\\'), { maxLength: 200 }),
        (levels, asArray, inner, noise) => {
          let value = inner
          for (let level = 0; level < levels; level++)
            value = asArray[level] ? [value] : { [noise.join('')]: value, [`${level}`]: noise.join('') }
          const depth = depthOf(value)
          expect('refused' in attempt(() => encodePayload(value)), `${depth} levels`).toBe(depth > maxDepth)
          // A message may be one deeper: its arguments lie in it.
          const text = JSON.stringify(value)
          expect('refused' in attempt(() => decodePayload(text)), `${depth} levels`).toBe(depth > maxDepth + 1)
        },
      ),
    )
  })

  it('loses the sign of zero and nothing else', () => {
    expect(encodePayload([-0])).toBe('[0]')
    expect(Object.is((decodePayload('[-0]') as number[])[0], -0)).toBe(true)
  })

  it('is refused when it is not JSON at all', () => {
    const cycle: unknown[] = []
    cycle.push(cycle)
    const values = [undefined, () => 1, Symbol('s'), cycle]
    for (const value of values) expect(() => encodePayload(value)).toThrow(PayloadProblem)
    let deep: unknown = 1
    for (let level = 0; level < 50_000; level++) deep = [deep]
    expect(() => encodePayload(deep)).toThrow(PayloadProblem)
  })

  it('text of any kind is decoded as JSON.parse does, or refused', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), text => {
        const decoded = attempt(() => decodePayload(text))
        if ('value' in decoded) expect(decoded.value).toEqual(JSON.parse(text))
      }),
    )
  })
})

describe('any result_queue', () => {
  const namespace = 'pshub'
  const pattern = /^pshub:reply:\{([A-Za-z0-9_-]{1,64})\}$(?!\n)/

  it('is taken for a reply list only when it is exactly one', () => {
    const pieces = fc.constantFrom('pshub', ':', 'reply', '{', '}', 'a', '\n', '\u0000', ' ', '*', 'pshub:reply:{', 'é')
    const composed = fc.array(pieces, { maxLength: 8 }).map(parts => parts.join(''))
    const end = fc.constantFrom('}', '', '}}', '} ', ')')
    const wrapped = fc.tuple(fc.oneof(composed, fc.string()), end).map(([id, last]) => `pshub:reply:{${id}${last}`)
    const real = fc
      .tuple(fc.stringMatching(/^[A-Za-z0-9_-]{1,70}$/), end)
      .map(([id, last]) => `pshub:reply:{${id}${last}`)
    fc.assert(
      fc.property(fc.oneof(composed, wrapped, real, fc.string(), fc.jsonValue()), value => {
        const expected = typeof value === 'string' ? pattern.exec(value)?.[1] : undefined
        expect(hubIdOf(value, namespace)).toBe(expected)
      }),
      { numRuns: 1000 },
    )
  })

  it('never leads a worker to another key than the one it names', () => {
    fc.assert(
      fc.property(fc.string(), fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,31}$/), (id, space) => {
        const named = `${space}:reply:{${id}}`
        const hubId = hubIdOf(named, space)
        if (hubId !== undefined) expect(makeKeys(space).reply(hubId)).toBe(named)
        // The last one is remembered: for its own namespace alone.
        expect(hubIdOf(named, `${space}x`)).toBe(undefined)
      }),
    )
  })
})

describe('any list element', () => {
  it('is read or dropped, and nothing else', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.json()),
        fc.option(fc.constant('hand-1-1'), { nil: undefined }),
        (text, heldId) => {
          try {
            const request = decodeRequest(text, heldId, 'pshub')
            expect(isId(request.id)).toBe(true)
          } catch (error) {
            expect(error).toBeInstanceOf(MalformedMessage)
          }
          const reply = decodeReply(text)
          expect(reply === undefined || typeof reply.id === 'string').toBe(true)
        },
      ),
    )
  })

  it('is what the caller meant, once it was stamped', () => {
    fc.assert(
      fc.property(
        anyJson.filter(value => !hasProto(value)),
        fc.integer({ min: 1, max: 2 ** 31 }),
        anyText,
        fc.boolean(),
        (args, ttl, from, idempotent) => {
          const id = newId()
          const tail = requestTail(makeKeys('pshub').reply('h'), from, undefined)
          const text = stamped('1795220163659000', ttl, requestBody(id, 't:1.0', idempotent, encodePayload(args), tail))
          const request = decodeRequest(text, undefined, 'pshub', undefined, 'number')
          expect(request).toMatchObject({ id, atUs: 1795220163659000, ttlMs: ttl, task: 't:1.0', hubId: 'h', text })
          expect(request.args).toEqual(args)
          expect(request.idempotent).toBe(idempotent)
          // What functions see: the leading fields, in order, and nothing before them.
          expect(/^\{"at":(\d+),"ttl":(\d+),"id":"([\w-]+)"(,"idempotent":true,)?/.exec(text)?.slice(1)).toEqual([
            '1795220163659000',
            `${ttl}`,
            id,
            idempotent ? ',"idempotent":true,' : undefined,
          ])
        },
      ),
    )
  })
})

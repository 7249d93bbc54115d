import { describe, expect, it } from 'vitest'
import { parseExact, stringifyExact, toMarks, withoutMarks } from '../../src/wire/json/exact-json.ts'
import { decodePayload, encodePayload } from '../../src/wire/payload.ts'
import { generatedValues, saysTheSame } from '../support/generated-values.mjs'

describe('generated values', () => {
  it('are written as they were read, and as BigInts say the same', () => {
    for (const { text, mayBeRefused } of generatedValues(7, 1000)) {
      if (mayBeRefused) continue
      expect(saysTheSame(stringifyExact(parseExact(text)), text), text).toBe(true)
      expect(saysTheSame(withoutMarks(JSON.stringify(toMarks(parseExact(text)))), text), text).toBe(true)
      for (const bigints of ['exact', 'bigint'] as const)
        expect(saysTheSame(encodePayload(decodePayload(text, bigints)), text), text).toBe(true)
    }
  })

  it('keep the text of each number', () => {
    const text = '[198146039620041860,-0,1.0,1E2,1e400,0.10,{"a":1253261109769874438}]'
    expect(stringifyExact(parseExact(text))).toBe(text)
    expect(encodePayload(parseExact(text))).toBe(text)
  })
})

import { describe, expect, it } from 'vitest'
import { whyUnusable } from '../../src/index.ts'
import { compileForeign, compileOwn, UnusableSchema } from '../../src/task/schema.ts'
import { defineTask } from '../../src/task/task.ts'
import { ConfigError } from '../../src/wire/errors.ts'
import { read } from '../support/protocol-document.ts'

const casesOf = <Case>(file: string) =>
  JSON.parse(read(`clients/vectors/${file}`)).cases as (Case & { title: string })[]

describe('schemas that are rejected', () => {
  const cases = casesOf<{ schema: object; says: string }>('schema-refusals.json')
  it.each(cases)('$title', ({ schema, says }) => {
    const told = `it is not a valid JSON Schema (2020-12): ${says}`
    expect(() => compileOwn(schema, 'it')).toThrow(new ConfigError(told))
    expect(() => compileForeign(JSON.stringify(schema))).toThrow(new UnusableSchema(says))
    expect(whyUnusable(schema)).toBe(says)
  })
})

describe('digests of declarations', () => {
  const cases = casesOf<Record<'args' | 'result' | 'yields', string | null> & { digest: string }>('digests.json')
  it.each(cases)('$title', ({ args, result, yields, digest }) => {
    const schema = (text: string | null) => (text === null ? undefined : JSON.parse(text))
    const options = { args: schema(args), result: schema(result), yields: schema(yields) }
    expect(defineTask('a:1.0', options).digest).toBe(digest)
  })
})

it('a schema of many references to a large part is code of no size', { timeout: 60_000 }, () => {
  const many = (schema: object) => Object.fromEntries(Array.from({ length: 900 }, (_, n) => [`f${n}`, schema]))
  const schema = { $defs: { a: { properties: many({}) } }, properties: many({ $ref: '#/$defs/a' }) }
  expect(compileForeign(JSON.stringify(schema))({ f1: { f2: 1 } }, 20)).toEqual([])
})

import { expect } from 'vitest'
import { compileForeign, compileOwn, UnusableSchema, type Validate } from '../../src/task/schema.ts'
import { ConfigError } from '../../src/wire/errors.ts'
import { type SchemaCase, schemaCases } from '../browser/form-schemas.ts'
import { read } from './protocol-document.ts'

/** What all languages say of the schemas in clients/vectors: those of the form, and schemas.json. */

interface Failing {
  value: unknown
  pointers: string[]
  inside: string[]
}

const language = 'typescript'

const plain = (JSON.parse(read('clients/vectors/schemas.json')).cases as (SchemaCase & { title: string })[]).map(
  one => ({
    file: `schemas.json, ${one.title}`,
    text: JSON.stringify(one.schema),
    case: { ...one, valid: [], invalid: [] },
  }),
)
const formed = schemaCases.map(one => ({ ...one, text: JSON.stringify(JSON.parse(one.text).schema) }))

const failsOf = ({ invalid, fails = [] }: SchemaCase): Failing[] =>
  [...invalid.map(one => ({ pointers: [one.pointer], ...one })), ...fails].map(one => ({ inside: [], ...one }))

/** The pointers that are missing, and those that are too many. */
const wrongOf = (check: Validate, { value, pointers, inside }: Failing): string[] => {
  const told = new Set(check(value, 100).map(({ pointer }) => pointer))
  const isWithin = (pointer: string) => inside.some(place => pointer === place || pointer.startsWith(`${place}/`))
  return [
    ...pointers.filter(pointer => !told.has(pointer)).map(pointer => `does not tell of ${pointer}`),
    ...[...told].filter(pointer => !pointers.includes(pointer) && !isWithin(pointer)).map(one => `tells of ${one}`),
  ]
}

/** The time limit of foreign schemas is short for a machine that has other things to do. */
const patient =
  (check: Validate): Validate =>
  (value, size) => {
    for (let tries = 1; ; tries++) {
      try {
        return check(value, size)
      } catch (error) {
        if (!(error instanceof UnusableSchema) || !error.message.includes('took longer') || tries === 5) throw error
      }
    }
  }

export const allSchemas = [...formed, ...plain]

/** Its own and foreign tasks' checks find exactly what the vectors say. */
export const judgeVector = ({ text, case: one }: (typeof allSchemas)[number]): void => {
  const compiled: Validate[] = []
  if (one.unusable ?? one.unusableIn?.[language]) {
    expect(() => compileOwn(one.schema, 'it')).toThrow(ConfigError)
    // What refers to itself without end is found by the first check, under its time limit.
    expect(() => compileForeign(text)(null, 4)).toThrow(UnusableSchema)
  } else {
    compiled.push(compileOwn(one.schema, 'it'))
    if (one.uncheckedBy?.[language]) expect(() => compileForeign(text)).toThrow(UnusableSchema)
    else compiled.push(patient(compileForeign(text)))
  }
  for (const check of compiled) {
    for (const value of [...one.valid, ...(one.fits ?? [])])
      expect(check(value, 100), JSON.stringify(value)).toEqual([])
    for (const failing of failsOf(one)) expect(wrongOf(check, failing), JSON.stringify(failing.value)).toEqual([])
  }
}

export const countOfValues = (one: SchemaCase): number =>
  one.valid.length + (one.fits ?? []).length + failsOf(one).length

/** It takes the validator seconds to give them up. */
export const isSlow = ({ file }: { file: string }): boolean => /hostile-(wide|many-objects|many-branches)/.test(file)

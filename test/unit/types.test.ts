import { describe, expect, it } from 'vitest'
import { openApiDocument } from '../../registry/server/openapi.ts'
import { changesOf, changesOfAll } from '../../src/types/changes.ts'
import { pythonOf } from '../../src/types/python.ts'
import { readSchema, readSchemas, schemasOf } from '../../src/types/schemas.ts'
import { typescriptOf } from '../../src/types/typescript.ts'
import { typedTasks } from '../support/typed-tasks.ts'

const number = { type: 'number' }
const task = (name: string, args?: object, result?: object) => ({ task: name, description: '', args, result }) as never

describe('types that are written', () => {
  it.each([typescriptOf, pythonOf])('carry the schemas that they were made of', write => {
    const tasks = schemasOf(typedTasks)
    expect(readSchemas(write(tasks), 'it')).toEqual(tasks)
  })

  it('do not change with the order in which the tasks are found', () => {
    expect(typescriptOf(schemasOf([...typedTasks].reverse()))).toBe(typescriptOf(schemasOf(typedTasks)))
  })

  it('have names of their own for tasks that look alike', () => {
    const text = typescriptOf([task('a/b:1.0', number), task('a.b:1.0', number)])
    expect(text).toContain('export type AB1_0Args = number')
    expect(text).toContain('export type AB1_0Args_2 = number')
  })

  it('say why a schema is not used', () => {
    const text = typescriptOf([task('outside:1.0', { $ref: 'https://example.com/x.json' })])
    expect(text).toContain('/** The schema of the registry is not used: /$ref refers to no schema within this one')
    expect(text).toContain('export type Outside1_0Args = unknown')
  })

  it('end no comment early, whatever a description holds', () => {
    const text = typescriptOf([
      { task: 'a:1.0', description: 'x */ y\n/* z', args: { description: '*/', type: 'string' } },
    ])
    const code = text.split('// pshub:schemas')[0]!.replace(/\/\*[\s\S]*?\*\//g, '')
    expect(code).not.toMatch(/ y|z|\*\//)
    const python = pythonOf([{ task: 'a:1.0', description: 'x\ry\u2028z\u0085import os', args: number }])
    for (const line of python.split(/\r|\n|\u2028|\u0085/)) expect(line).not.toMatch(/^\s*(y|z|import os)/)
  })
})

describe('tasks of a file', () => {
  it('are read from the document of the registry as they are in Redis', () => {
    const live = typedTasks.map(each => ({
      ...each,
      workers: ['w'],
      queue: 'default',
      timeoutMs: 5,
      idempotent: false,
    }))
    const document = openApiDocument({ tasks: live } as never, { server: 'http://x', namespace: 'n' })
    const read = readSchemas(JSON.stringify(document), 'it')
    expect(read.map(each => each.task)).toEqual(schemasOf(typedTasks).map(each => each.task))
    const tree = (tasks: typeof read) => tasks.find(each => each.task === 'image/re-size_it:2.1')!
    expect(tree(read).result).toEqual(tree(typedTasks).result)
    expect(tree(read).args).toEqual(tree(typedTasks).args)
    const yielding = (tasks: typeof read) => tasks.flatMap(({ task, yields }) => (yields ? [[task, yields]] : []))
    expect(yielding(read)).toEqual(yielding(schemasOf(typedTasks)))
    expect(yielding(read)).toHaveLength(2)
    expect(changesOfAll(schemasOf(typedTasks), read).filter(({ kind }) => kind === 'breaks')).toEqual([])
  })

  it('are nothing else', () => {
    for (const text of ['', 'const x = 1', '{}', '[1]', '[{"task":5}]', '{"type":"object"}', 'null'])
      expect(() => readSchemas(text, 'x.json'), text).toThrow(
        /^x\.json holds no tasks: give a file that pshub types wrote/,
      )
    expect(readSchema('{"type":"object"}')).toEqual({ type: 'object' })
    for (const text of ['', '[]', '5', '{"openapi":"3.1.0"}', '{"$ref":"http://x"}'])
      expect(readSchema(text), text).toBe(undefined)
  })
})

describe('changes', () => {
  it('break callers where a task is gone, or its schemas let less in or more out', () => {
    const before = [task('gone:1.0'), task('a:1.0', { type: 'object', properties: { n: number } }, number)]
    const after = [task('a:1.0', { type: 'object', properties: { n: { type: 'string' } } }, number), task('new:1.0')]
    expect(changesOfAll(before, after)).toMatchObject([
      { task: 'gone:1.0', of: 'task', kind: 'breaks' },
      { task: 'a:1.0', of: 'args', pointer: '/n', kind: 'breaks' },
      { task: 'a:1.0', of: 'args', pointer: '/n', kind: 'fits' },
      { task: 'new:1.0', of: 'task', kind: 'fits' },
    ])
  })

  it('of what is yielded break readers, and are unclear where it is not said any more', () => {
    const yielding = (yields?: object | true) => ({ ...(task('a:1.0') as object), yields }) as never
    expect(changesOf(yielding(number), yielding({ type: ['number', 'null'] }))).toMatchObject([
      { task: 'a:1.0', of: 'yields', kind: 'breaks' },
    ])
    for (const later of [undefined, true] as const)
      expect(changesOf(yielding(number), yielding(later))).toMatchObject([{ of: 'yields', kind: 'unclear' }])
    expect(changesOf(yielding(true), yielding())).toEqual([])
  })

  it('are unclear where a schema cannot be used', () => {
    expect(changesOf(task('a:1.0', number), task('a:1.0', { $ref: 'http://x' }))).toMatchObject([
      {
        of: 'args',
        kind: 'unclear',
        text: expect.stringMatching(/^It cannot be compared: \/\$ref refers to no schema within this one/),
      },
    ])
  })
})

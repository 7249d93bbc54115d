import { aliasesOf, parseTaskName } from '../wire/names.ts'
import { commentLines, nameOfPart, TypeNames, wordsOf } from './names.ts'
import { chunkSchema, schemasLine, type TaskSchemas } from './schemas.ts'
import { type Field, type Shape, shapesOf } from './shape.ts'

const reserved = [
  'Any',
  'Literal',
  'TypedDict',
  'NotRequired',
  'None',
  'True',
  'False',
  'NamedTask',
  'AsyncNamedTask',
  'Tasks',
  'AsyncTasks',
]

const heading = `# Written by \`pshub types --python\`: do not edit it. \`pshub types --check\` says whether it is still up to date.
from typing import Any, Literal

from pshub import AsyncNamedTask, NamedTask
from typing_extensions import NotRequired, TypedDict
`

/**
 * A stub of types: a TypedDict for each object, and Tasks, which has the tasks by name: a type checker knows each key of such a dict, and
 * says of a mistake only what is wrong with that task. Lists with a type for each place are lists of any of these: they come as lists.
 */
export const pythonOf = (tasks: readonly TaskSchemas[]): string => {
  const printer = new Printer()
  const known: Typed[] = []
  const newest = aliasesOf(tasks.map(({ task }) => task))
  for (const { task, description, args, result, yields } of tasks) {
    const words = wordsOf(parseTaskName(task))
    const given = printer.declared([...words, 'Args'], args)
    const told = printer.declared([...words, 'Result'], result)
    const chunk = printer.declared([...words, 'Chunk'], chunkSchema(yields))
    const aliases = [...newest].filter(([, full]) => full === task).map(([alias]) => alias)
    const types = `${given}, ${told}, ${chunk}`
    for (const name of [task, ...aliases]) known.push({ name, types, about: name === task ? description : '' })
  }
  const byName = [tasksOf('Tasks', 'NamedTask', known), tasksOf('AsyncTasks', 'AsyncNamedTask', known)]
  return [heading, ...printer.types, ...byName, `# ${schemasLine(tasks)}`, ''].join('\n')
}

/** A task under one of its names. */
interface Typed {
  name: string
  /** Of its arguments, its result and what it yields; Any where nobody said it. */
  types: string
  about: string
}

const tasksOf = (name: string, kind: string, tasks: readonly Typed[]): string => {
  const lines = tasks.map(
    ({ name, types, about }) => `${comment(about, '    ')}    ${JSON.stringify(name)}: ${kind}[${types}],\n`,
  )
  return `${name} = TypedDict("${name}", {\n${lines.join('')}})\n`
}

class Printer {
  readonly types: string[] = []
  readonly #names = new TypeNames(reserved)
  #parts: ReadonlyMap<string, string> = new Map()

  /** Declares what a schema says; returns the type to write for it. */
  declared(words: string[], schema: unknown): string {
    if (schema === undefined) return 'Any'
    const { whole, parts, about, unusable } = shapesOf(schema)
    const name = this.#names.free(...words)
    this.#parts = new Map(
      [...parts.keys()].map(pointer => [pointer, pointer === '' ? name : this.#names.free(name, nameOfPart(pointer))]),
    )
    for (const [pointer, shape] of parts) if (pointer !== '') this.#declare(this.#parts.get(pointer)!, shape, '')
    this.#declare(name, whole, unusable === undefined ? about : `The schema of the registry is not used: ${unusable}.`)
    return name
  }

  #declare(name: string, shape: Shape, about: string): void {
    if (shape.is === 'object' && shape.fields.length > 0) this.#dictionary(name, shape.fields, about)
    else this.types.push(`${comment(about, '')}${name} = ${this.#text(shape, name)}\n`)
  }

  #dictionary(name: string, fields: Field[], about: string): void {
    const place = this.types.push('') - 1
    const typed = fields.map(field => {
      const text = this.#text(field.shape, name, field.name)
      return { ...field, text: field.isRequired ? text : `NotRequired[${text}]` }
    })
    const isPlain = fields.every(field => isName(field.name))
    const lines = typed.map(field =>
      isPlain
        ? `${comment(field.about, '    ')}    ${field.name}: ${field.text}\n`
        : `${comment(field.about, '    ')}    ${JSON.stringify(field.name)}: ${field.text},\n`,
    )
    this.types[place] = isPlain
      ? `${comment(about, '')}class ${name}(TypedDict):\n${lines.join('')}`
      : `${comment(about, '')}${name} = TypedDict("${name}", {\n${lines.join('')}})\n`
  }

  #text(shape: Shape, ...words: string[]): string {
    switch (shape.is) {
      case 'boolean':
        return 'bool'
      case 'number':
        return 'float'
      case 'integer':
        return 'int'
      case 'string':
        return 'str'
      case 'literal':
        return literal(shape.value)
      case 'any of':
        return shape.of.map(each => this.#text(each, ...words)).join(' | ')
      case 'list':
        return `list[${this.#text(shape.of, ...words, 'Item')}]`
      case 'tuple':
        return `list[${[...new Set([...shape.of, ...(shape.rest ? [shape.rest] : [])].map(each => this.#text(each, ...words, 'Item')))].join(' | ')}]`
      case 'part':
        return this.#parts.get(shape.pointer) ?? 'Any'
      case 'object':
        return this.#object(shape, words)
      default:
        // Python has no types for what is all of several, nor for what cannot be.
        return 'Any'
    }
  }

  #object({ fields, others }: Extract<Shape, { is: 'object' }>, words: string[]): string {
    if (fields.length === 0) return `dict[str, ${this.#text(others ?? { is: 'unknown' }, ...words, 'Value')}]`
    const name = this.#names.free(...words)
    this.#dictionary(name, fields, '')
    return name
  }
}

const literal = (value: string | number | boolean | null): string => {
  if (value === null) return 'None'
  if (typeof value === 'boolean') return `Literal[${value ? 'True' : 'False'}]`
  // There are no literals of fractions.
  if (typeof value === 'number') return Number.isSafeInteger(value) ? `Literal[${value}]` : 'float'
  return `Literal[${JSON.stringify(value)}]`
}

const keywords = new Set(
  'False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield'.split(
    ' ',
  ),
)
const isName = (name: string): boolean => /^[A-Za-z][A-Za-z0-9_]*$/.test(name) && !keywords.has(name)

const comment = (text: string, indent: string): string =>
  commentLines(text)
    .map(line => `${indent}# ${line}`.trimEnd())
    .filter(line => line.trim() !== '#')
    .map(line => `${line}\n`)
    .join('')

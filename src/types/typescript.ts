import { aliasesOf, parseTaskName } from '../wire/names.ts'
import { commentLines, nameOfPart, TypeNames, wordsOf } from './names.ts'
import { chunkSchema, schemasLine, type TaskSchemas } from './schemas.ts'
import { type Field, type Shape, shapesOf } from './shape.ts'

const reserved = ['Tasks', 'Record', 'Array', 'Object', 'Promise', 'Date', 'Map', 'Set', 'String', 'Number', 'Boolean']

/** A module of types: `Tasks`, for `new Hub<Tasks>()`, and a type of its own for the arguments and the result of each. */
export const typescriptOf = (tasks: readonly TaskSchemas[]): string => {
  const names = new TypeNames(reserved)
  const types: string[] = []
  const entries: string[] = []
  for (const { task, description, args, result, yields } of tasks) {
    const words = wordsOf(parseTaskName(task))
    const [given, told] = [
      declared([...words, 'Args'], args, names, types),
      declared([...words, 'Result'], result, names, types),
    ]
    const chunk =
      yields === undefined ? '' : `; chunk: ${declared([...words, 'Chunk'], chunkSchema(yields), names, types)}`
    entries.push(
      `${comment(description, '  ')}  ${JSON.stringify(task)}: { args: ${given}; result: ${told}${chunk} }\n`,
    )
  }
  for (const [alias, task] of aliasesOf(tasks.map(({ task }) => task)))
    entries.push(`  ${JSON.stringify(alias)}: Tasks[${JSON.stringify(task)}]\n`)
  return [
    '// Written by `pshub types`: do not edit it. `pshub types --check` says whether it is still up to date.',
    '',
    '/** For `new Hub<Tasks>()`. */',
    `export interface Tasks {\n${entries.join('')}}`,
    '',
    ...types,
    `// ${schemasLine(tasks)}`,
    '',
  ].join('\n')
}

/** Declares a type, and what it refers to; returns its name. */
const declared = (words: string[], schema: unknown, names: TypeNames, types: string[]): string => {
  if (schema === undefined) return 'unknown'
  const { whole, parts, about, unusable } = shapesOf(schema)
  const name = names.free(...words)
  // The whole is a part where it refers to itself.
  const partNames = new Map(
    [...parts.keys()].map(pointer => [pointer, pointer === '' ? name : names.free(name, nameOfPart(pointer))]),
  )
  const printer = new Printer(partNames)
  const why = unusable === undefined ? about : `The schema of the registry is not used: ${unusable}.`
  types.push(`${comment(why, '')}export type ${name} = ${printer.text(whole, '')}\n`)
  for (const [pointer, shape] of parts)
    if (pointer !== '') types.push(`export type ${partNames.get(pointer)} = ${printer.text(shape, '')}\n`)
  return name
}

class Printer {
  readonly #parts: ReadonlyMap<string, string>

  constructor(parts: ReadonlyMap<string, string>) {
    this.#parts = parts
  }

  text(shape: Shape, indent: string): string {
    switch (shape.is) {
      case 'integer':
        return 'number'
      case 'literal':
        return JSON.stringify(shape.value)
      case 'any of':
        return shape.of.map(each => this.#enclosed(each, indent)).join(' | ')
      case 'all of':
        return shape.of.map(each => this.#enclosed(each, indent)).join(' & ')
      case 'list':
        return `${this.#enclosed(shape.of, indent)}[]`
      case 'tuple': {
        const rest = shape.rest ? [`...${this.#enclosed(shape.rest, indent)}[]`] : []
        return `[${[...shape.of.map(each => this.text(each, indent)), ...rest].join(', ')}]`
      }
      case 'object':
        return this.#object(shape.fields, shape.others, indent)
      case 'part':
        return this.#parts.get(shape.pointer) ?? 'unknown'
      default:
        return shape.is
    }
  }

  #enclosed(shape: Shape, indent: string): string {
    const text = this.text(shape, indent)
    return shape.is === 'any of' || shape.is === 'all of' ? `(${text})` : text
  }

  #object(fields: Field[], others: Shape | undefined, indent: string): string {
    if (fields.length === 0) return `{ [key: string]: ${this.text(others ?? { is: 'unknown' }, indent)} }`
    const inner = `${indent}  `
    const lines = fields.map(
      ({ name, shape, isRequired, about }) =>
        `${comment(about, inner)}${inner}${keyOf(name)}${isRequired ? '' : '?'}: ${this.text(shape, inner)}\n`,
    )
    // Fields that are named have types of their own, which these need not have.
    if (others) lines.push(`${inner}[key: string]: unknown\n`)
    return `{\n${lines.join('')}${indent}}`
  }
}

const keyOf = (name: string): string => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name))

const comment = (text: string, indent: string): string => {
  const lines = commentLines(text).map(line => line.replaceAll('*/', '*\\/'))
  if (lines.length === 0 || lines.join('') === '') return ''
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`
  return `${indent}/**\n${lines.map(line => `${indent} * ${line}`.trimEnd()).join('\n')}\n${indent} */\n`
}

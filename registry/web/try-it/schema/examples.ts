import { makeRefs, type Refs } from '../../../schema/refs.ts'
import { isObject, type Loose, listOf, own } from '../../../schema/steps.ts'

/** Values a schema offers as examples of the whole, else one put together from defaults, examples and limits of its parts. */
export const examplesOf = (schema: unknown): unknown[] => {
  const given = listOf(own(schema, 'examples'))
  if (given.length > 0) return given.slice(0, 20)
  if (own(schema, 'example') !== undefined) return [own(schema, 'example')]
  return [new Maker(schema).value(schema, 0)]
}

const maxSteps = 500
/** Beyond it only what is required is filled in, so that a recursive schema ends. */
const maxOptionalDepth = 3
const maxDepth = 12

class Maker {
  private steps = 0
  private readonly refs: Refs

  constructor(root: unknown) {
    this.refs = makeRefs(root)
  }

  value(given: unknown, depth: number): unknown {
    if (++this.steps > maxSteps || depth > maxDepth) return null
    const schema = this.merged(given, 0)
    if (schema.const !== undefined) return schema.const
    const said = [schema.default, listOf(schema.examples)[0], schema.example, listOf(schema.enum)[0]]
    const first = said.find(value => value !== undefined)
    if (first !== undefined) return first
    const type = [schema.type].flat().find(name => name !== 'null') ?? [schema.type].flat()[0] ?? guessed(schema)
    if (type === 'object') return this.object(schema, depth)
    if (type === 'array') return this.array(schema, depth)
    if (type === 'string') return text(schema)
    if (type === 'number' || type === 'integer') return number(schema, type === 'integer')
    return type === 'boolean' ? false : null
  }

  /** A schema with what it refers to and what it joins, the first of several branches taken. */
  private merged(given: unknown, hops: number): Loose {
    if (!isObject(given) || hops > 8) return {}
    const others = [
      this.named(given),
      ...listOf(own(given, 'allOf')).slice(0, 20),
      listOf(own(given, 'oneOf'))[0],
      listOf(own(given, 'anyOf'))[0],
    ].filter(isObject)
    return others.reduce<Loose>((all, other) => joined(all, this.merged(other, hops + 1)), { ...given })
  }

  private named(schema: Loose): unknown {
    const ref = own(schema, '$ref')
    return typeof ref === 'string' ? this.refs.resolve(ref, schema) : undefined
  }

  private object(schema: Loose, depth: number): Loose {
    const properties = isObject(schema.properties) ? schema.properties : {}
    const required = new Set(listOf(schema.required))
    const made: Loose = {}
    for (const [key, inner] of Object.entries(properties).slice(0, 100)) {
      if (key === '__proto__' || inner === false) continue
      if (required.has(key) || (depth < maxOptionalDepth && this.steps < maxSteps))
        made[key] = this.value(inner, depth + 1)
    }
    return made
  }

  private array(schema: Loose, depth: number): unknown[] {
    const first = listOf(schema.prefixItems).slice(0, 20)
    const least = Math.min(20, typeof schema.minItems === 'number' ? schema.minItems : 0)
    const length = Math.max(
      first.length,
      least,
      depth < maxOptionalDepth && schema.items !== false && first.length === 0 ? 1 : 0,
    )
    return Array.from({ length }, (_, at) => this.value(first[at] ?? schema.items, depth + 1))
  }
}

const joined = (a: Loose, b: Loose): Loose => ({
  ...b,
  ...a,
  ...(isObject(a.properties) && isObject(b.properties) ? { properties: { ...a.properties, ...b.properties } } : {}),
  ...(Array.isArray(a.required) && Array.isArray(b.required) ? { required: [...a.required, ...b.required] } : {}),
})

const guessed = (schema: Loose): string => {
  if (schema.properties !== undefined) return 'object'
  if (schema.items !== undefined || schema.prefixItems !== undefined) return 'array'
  if (schema.pattern !== undefined || schema.format !== undefined || schema.minLength !== undefined) return 'string'
  return schema.minimum !== undefined || schema.maximum !== undefined ? 'number' : 'null'
}

const formats: Record<string, string> = {
  date: '2026-01-31',
  time: '12:30:00Z',
  'date-time': '2026-01-31T12:30:00Z',
  duration: 'PT1H',
  email: 'somebody@example.com',
  hostname: 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uri: 'https://example.com/',
  url: 'https://example.com/',
  'uri-reference': '/path',
  uuid: '123e4567-e89b-42d3-a456-426614174000',
}

const text = (schema: Loose): string => {
  const format =
    typeof schema.format === 'string' && Object.hasOwn(formats, schema.format) ? formats[schema.format] : undefined
  if (format !== undefined) return format
  const least = typeof schema.minLength === 'number' ? Math.min(schema.minLength, 1000) : 0
  const most = typeof schema.maxLength === 'number' ? schema.maxLength : 1000
  return 'text'.padEnd(least, ' text').slice(0, Math.max(least, most, 0))
}

const number = (schema: Loose, isWhole: boolean): number => {
  const bound = (key: string) => (['number', 'bigint'].includes(typeof schema[key]) ? Number(schema[key]) : undefined)
  const step = bound('multipleOf') ?? (isWhole ? 1 : undefined)
  const above = bound('exclusiveMinimum')
  const below = bound('exclusiveMaximum')
  const least =
    bound('minimum') ?? (above === undefined ? undefined : above + (step ?? Math.max(1e-6, Math.abs(above) / 100)))
  const most =
    bound('maximum') ?? (below === undefined ? undefined : below - (step ?? Math.max(1e-6, Math.abs(below) / 100)))
  const wanted = Math.min(Math.max(1, least ?? 1), most ?? Number.POSITIVE_INFINITY)
  if (step === undefined || step <= 0) return wanted
  const up = Math.ceil(wanted / step) * step
  return most !== undefined && up > most ? Math.floor(most / step) * step : up
}

import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { scope, type } from 'arktype'
import * as valibot from 'valibot'
import { describe, expect, it } from 'vitest'
import * as zod from 'zod'
import { defineTask } from '../../src/index.ts'
import { parsePointer, partAt } from '../../src/schema-diff/pointer.ts'
import type { StandardSchema } from '../../src/task/standard.ts'

const z = { ...zod }
const v = { ...valibot }

/** Texts of which libraries, RFCs and patterns with other flags think differently. */
const texts = [
  '|a|b|aa|ab|abc|a\nb|bar|BARbaz|xBar|a-b|A|z| ab |  a  |ß|\u212a|ſ|\n|\\-|(|😀|😀😀|a😀|😀b😀|ä|äöü|\\p{L}',
  '1|12|007|1.5|-3|1e5|.5|-0|0x1f|true|null|+4915112345678|4111111111111111|1.2.3|1.2.3-x+y|{"a":1}|[1',
  'a@b.cd|Ä@ö.de|a@b-.com|.a@b.de|o\'x@b.de|a b@c.de|ſ@x.de|a@b|"a b"@c.de|a.de|a.de.|ä.de|-a.de',
  'https://a.de|https://ä.de/ö?ü#ß|http://a b|https://a.de/a b|mailto:a@b.de|urn:x:y|x| https://a.de ',
  '2020-01-01|2020-02-30|2021-02-29|20200101|2020-W05|2020-01-01T00:00|2020-01-01T00:00:00|2020-01-01 00:00',
  '2020-01-01T00:00:00Z|2020-01-01T00:00Z|2020-01-01T00:00:00.5Z|2020-01-01T00:00:00+02:00|2020-01-01 00:00:00 +0200',
  '2020-02-31T00:00:00Z|2020-01-01t00:00:00z|09:30|09:30:15|09:30:15.5|09:30:15Z|24:00',
  'P1D|PT2S|P1DT2.5S|PT2,5S|P1W|P1W2D|-P1D|P|PT|PT1H1S|P1YT1S',
  '123e4567-e89b-12d3-a456-426614174000|00000000-0000-0000-0000-000000000000|123E4567-E89B-42D3-A456-426614174000',
  '123e4567-e89b-02d3-0456-426614174000|1.2.3.4|01.2.3.4|256.1.1.1|1.2.3.0/24|::1|::ffff:1.2.3.4|fe80::1%eth0',
  '1:2:3:4:5:6:7:8|2001:db8::/32|YWI=|YWI|YWJj|a_-b|deadBEEF|#ABC|#abcdef|00:1B:44:11:3a:b7|00-1B-44-11-3A-B7',
  '01ARZ3NDEKTSV4RRFFQ69G5FAV|ckopqwooh000001la8mbi2im9|eyJhbGciOiJIUzI1NiJ9.e30.abc',
]
  .flatMap(line => line.split('|'))
  .concat('a'.repeat(21), 'a'.repeat(27), 'a'.repeat(32), 'A'.repeat(64), `a@${'b'.repeat(64)}.de`)

const values: unknown[] =
  JSON.parse(`[null, true, false, 0, 1, -1, 1.5, 0.3, 2147483648, 9007199254740992, 1e21, 5e-7, 3, 4,
  [], ["a"], ["a", 1], ["a", 1, "x"], [1], [null], [1, 2, 3], [[]],
  {}, {"a":"a"}, {"a":""}, {"A":1}, {"a":1}, {"a":"a","b":1}, {"a":null}, {"k":"a"}, {"k":"b"}, {"k":"a","n":1}, {"k":"b","n":"x"},
  {"1":"x"}, {"1e5":"x"}, {"😀":1}, {"a":{"a":"a"}}, {"a\\nb":1}]`).concat(texts)

// The constructor, as biome would mend some of them.
const regexes: RegExp[] = [
  'bar/i ^a.b$/s ^b$/m ^..$/ ^..$/u ^a\\-b$/ ^[\\w--b]$/v ^[^x]{2}$/ ^[^x]+$/ ^(.+){2}$/ ^.+.+$/ ^a.*$/ ^\\S{2,}$/ b/y b/g ^[a-z]+$/',
  '^[😀]$/u [😀]/ \\p{L}/u ^\\p{L}/ ^\\u{1}/ ^(a|b)$/ ^\\d+$/ ^[a-z]+$/iu \\w/iu ^(?!.*bar)/i ^\\p{L}{2}$/',
]
  .flatMap(line => line.split(' '))
  .map(text => new RegExp(text.replace(/\/\w*$/, ''), text.replace(/.*\//, '')))

const made = (library: Record<string, unknown>, names: string) =>
  names.split(' ').map(name => (library[name] as () => never)())

const zodSchemas = (): zod.ZodType[] => [
  ...regexes.map(regex => z.string().regex(regex)),
  ...made(
    z,
    'email uuid uuidv4 uuidv7 guid url httpUrl hostname emoji base64 base64url hex jwt nanoid cuid cuid2 ulid xid',
  ),
  ...made(
    z,
    'ksuid ipv4 ipv6 mac cidrv4 cidrv6 e164 json any unknown null never string number int int32 float32 stringbool',
  ),
  ...made(z.iso, 'datetime date time duration'),
  ...made(z.coerce, 'number string boolean'),
  ...[z.regexes.unicodeEmail, z.regexes.html5Email, z.regexes.rfc5322Email].map(pattern => z.email({ pattern })),
  ...[{ offset: true }, { local: true }, { precision: -1 }].map(options => z.iso.datetime(options)),
  ...['a-', '.', '😀'].flatMap(part => [
    z.string().startsWith(part),
    z.string().includes(part),
    z.string().endsWith(part),
  ]),
  ...[z.hash('md5'), z.hash('sha256'), z.stringFormat('x', /^A$/i), z.string().lowercase(), z.string().uppercase()],
  ...[z.string().min(2), z.string().length(2), z.email().regex(/b/i), z.string().regex(/a/).regex(/B/i)],
  ...[z.string().trim().max(2), z.string().toLowerCase().regex(/^a/), z.string().max(3).trim().min(1)],
  ...[z.string().catch('c'), z.preprocess(String, z.string().max(3)), z.string().transform(Number).pipe(z.number())],
  ...[
    z.number().gt(1).multipleOf(0.1),
    z.templateLiteral(['a', z.number()]),
    z.templateLiteral([z.string().max(1), 'b']),
  ],
  ...[z.string().refine(text => text !== 'a'), z.literal(['a', 1, null]), z.enum(['a', 'b'])],
  ...[z.record(z.string().regex(/^a/i), z.number()), z.record(z.enum(['a', 'b']), z.any())],
  ...[z.looseRecord(z.string().regex(/^a/i), z.number()), z.looseRecord(z.string().regex(/^a.b$/s), z.number())],
  ...[
    z.record(z.number(), z.string()),
    z.looseObject({ a: z.string() }),
    z.xor([z.string().regex(/^a$/i), z.string().min(3)]),
  ],
  z.discriminatedUnion('k', [z.object({ k: z.literal('a') }), z.object({ k: z.literal('b'), n: z.coerce.number() })]),
  z.intersection(z.strictObject({ a: z.any() }), z.strictObject({ b: z.number() })),
  ...[
    z.tuple([]),
    z.tuple([z.string(), z.any()]),
    z.tuple([z.string(), z.number().optional()]),
    z.tuple([z.string()], z.number()),
  ],
]

const valibotTexts =
  'email rfcEmail url uuid ipv4 ipv6 isoDate isoDateTime isoTime isoTimeSecond isoTimestamp isoWeek base64 bic cuid2 decimal digits ' +
  'emoji hexadecimal hexColor mac mac48 nanoid octal slug ulid ip imei creditCard nonEmpty'

const valibotSchemas = (): valibot.GenericSchema[] => {
  const of = (...actions: unknown[]) => v.pipe(v.string(), ...(actions as [never]))
  return [
    ...regexes.map(regex => of(v.regex(regex))),
    ...made(v, valibotTexts).map(action => of(action)),
    ...[of(v.minLength(2)), of(v.length(2)), of(v.trim(), v.maxLength(2)), of(v.toLowerCase(), v.regex(/^a/))],
    ...[of(v.check(text => text !== 'a')), of(v.hash(['md5', 'sha256'])), of(v.regex(/a/), v.regex(/b/))],
    ...[
      of(v.startsWith('a-')),
      of(v.endsWith('😀')),
      of(v.maxLength(9), v.trim()),
      of(v.notValue('a')),
      of(v.transform(Number)),
    ],
    ...[v.fallback(v.string(), 'x'), v.object({ a: v.fallback(v.string(), 'x'), b: v.optional(v.number()) })],
    ...[
      v.tuple([v.string(), v.optional(v.number())]),
      v.tuple([]),
      v.tuple([v.any()]),
      v.strictTuple([v.string(), v.number()]),
    ],
    ...[v.tupleWithRest([v.string()], v.number()), v.strictObject({ a: v.nullish(v.string()) }), v.picklist(['a', 1])],
    ...[v.record(of(v.regex(/^a/)), v.number()), v.pipe(v.number(), v.toMinValue(3), v.minValue(2))],
    v.variant('k', [v.object({ k: v.literal('a') }), v.object({ k: v.literal('b'), n: v.fallback(v.number(), 1) })]),
  ] as valibot.GenericSchema[]
}

const arkTexts =
  'string.email,string.url,string.uuid,string.uuid.v4,string.date,string.date.iso,string.ip,string.ip.v4,string.ip.v6,string.hex,' +
  'string.base64,string.base64.url,string.creditCard,string.digits,string.integer,string.numeric,string.json,string.lower,string.trim,' +
  'string.trim.preformatted,string.semver,string.regex,string.numeric.parse,string >= 2,string == 3,string <= 2,number.integer,' +
  'number % 2,0 < number <= 5,string | undefined,unknown,string[] >= 2,/a/ & /b/,"a" | "b",string | number[],' +
  'Record<string\\, number>,never,number.safe'

const arkSchemas = (): object[] => [
  ...regexes.map(regex => type(regex)),
  ...arkTexts.split(/(?<!\\),/).map(text => type(text.replace('\\', '') as 'string')),
  ...[type({ a: /^A/i, 'b?': 'number', '+': 'reject' }), type({ c: 'number = 3' }), type({ 'a?': 'never' })],
  ...[type(['string', 'number?']), type(['...', 'string[]', 'number']), type('string').narrow(text => text !== 'a')],
  ...[
    type('string')
      .pipe(text => text.trim())
      .to('string <= 2'),
    type({ '[/^a/]': 'number', '+': 'reject' }),
  ],
  ...[type({ k: "'a'" }).or({ k: "'b'", n: 'string' }), scope({ n: { 'a?': 'n | string' } }).type('n')],
]

/** Of what is within an object or a list. */
const some = values.filter((_, at) => at % 5 === 0)

/** Its schemas, and what each is within an object, and in a list. */
const libraries: Record<string, () => object[][]> = {
  zod: () => zodSchemas().map(leaf => [leaf, z.object({ a: leaf }), z.array(leaf)]),
  valibot: () =>
    valibotSchemas().map(leaf => [leaf, v.object({ a: leaf }), v.array(leaf)].map(each => toStandardJsonSchema(each))),
  arktype: () => arkSchemas().map(leaf => [leaf, type({ a: leaf } as never), type(leaf as never).array()]),
}

const takes = (schema: object, value: unknown): boolean => {
  const { validate } = (schema as { '~standard': { validate(value: unknown): { issues?: unknown } } })['~standard']
  return !validate(structuredClone(value)).issues
}

/** Libraries take a list where no field of an object is required. Nobody means that, so an object is published as one. */
const isListForObject = (value: unknown, { pointer, message }: { pointer: string; message: string }): boolean =>
  message === 'must be object' && Array.isArray(parsePointer(pointer).reduce(partAt, value))

const argsOf = (schema: object) => defineTask('x:1.0', { args: schema as StandardSchema })

describe.each(Object.entries(libraries))('what a schema of %s takes', (_, schemas) => {
  it('is taken by what is published of it', () => {
    const refused = (schema: object, tried: readonly unknown[]) => {
      const { args, checkArgs } = argsOf(schema)
      return tried
        .filter(
          value => takes(schema, value) && !checkArgs!(value, 0).every(problem => isListForObject(value, problem)),
        )
        .map(value => `${JSON.stringify(value)} by ${JSON.stringify(args)}`)
    }
    const narrower = schemas().flatMap(([leaf, object, list]) => [
      ...refused(leaf!, values),
      ...refused(object!, [{}, ...some.map(a => ({ a }))]),
      ...refused(list!, [[], ...some.map(value => [value])]),
    ])
    expect(narrower).toEqual([])
  })
})

describe('what is published', () => {
  it.each<[string, object, object]>([
    ['a pattern without flags', z.string().regex(/^[a-z]+$/), { type: 'string', pattern: '^[a-z]+$' }],
    ['one that is read with u', z.string().regex(/^\p{L}$/u), { type: 'string', pattern: '^\\p{L}$' }],
    ['no pattern that has lost its flags', z.string().regex(/bar/i), { type: 'string' }],
    ['a format without the long pattern for it', z.uuid(), { type: 'string', format: 'uuid' }],
    ['that of a time', z.iso.datetime(), { type: 'string', format: 'date-time' }],
    ['one that nobody checks, where RFCs know less', z.url(), { type: 'string', format: 'iri' }],
    ['the same of addresses', z.email(), { type: 'string', format: 'idn-email' }],
    ['a format of the library without its pattern', z.ulid(), { type: 'string', format: 'ulid' }],
    [
      'lengths in code points',
      toStandardJsonSchema(v.pipe(v.string(), v.minLength(3))),
      { type: 'string', minLength: 2 },
    ],
    ['nothing of what is checked behind a change', z.string().trim().max(2), { type: 'string' }],
    ['what coerce makes, as a hint', z.coerce.number().min(1), { anyOf: [{ type: 'number', minimum: 1 }, {}] }],
    [
      'what follows preprocess, as a hint',
      z.object({ a: z.preprocess(String, z.string().max(3)), b: z.coerce.boolean().catch(true) }),
      {
        type: 'object',
        properties: {
          a: { anyOf: [{ type: 'string', maxLength: 3 }, {}] },
          b: { default: true, anyOf: [{ anyOf: [{ type: 'boolean' }, {}] }, {}] },
        },
        required: [],
      },
    ],
    [
      'what falls back, as a hint',
      toStandardJsonSchema(v.fallback(v.number(), 1)),
      { anyOf: [{ type: 'number' }, {}] },
    ],
    [
      'flags that arktype has lost',
      type({ a: /bar/i }),
      { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
    ],
  ])('is %s', (_, schema, published) => {
    const { $schema, ...args } = argsOf(schema).args!
    expect(args).toEqual(published)
  })

  it.each<[string, object, object]>([
    ['zod, optional', z.string().optional(), { type: ['string', 'null'] }],
    ['zod, optional enum', z.enum(['a']).optional(), { anyOf: [{ type: 'string', enum: ['a'] }, { type: 'null' }] }],
    ['zod, void', z.void(), { type: 'null' }],
    ['zod, anything', z.any(), {}],
    ['zod, with a default', z.string().default('x'), { type: 'string', default: 'x' }],
    [
      'zod, fields',
      z.looseObject({ a: z.any(), b: z.union([z.string(), z.unknown()]).optional() }),
      {
        type: 'object',
        properties: { a: {}, b: { anyOf: [{ type: 'string' }, {}] } },
        additionalProperties: {},
        required: [],
      },
    ],
    [
      'zod, values',
      z.record(z.enum(['a']), z.string().optional()),
      {
        type: 'object',
        propertyNames: { type: 'string', enum: ['a'] },
        additionalProperties: { type: 'string' },
        required: [],
      },
    ],
    ['valibot, optional', toStandardJsonSchema(v.optional(v.string())), { type: ['string', 'null'] }],
    ['valibot, undefined', toStandardJsonSchema(v.undefined()), { type: 'null' }],
    [
      'valibot, fields',
      toStandardJsonSchema(v.object({ a: v.undefinedable(v.string()), b: v.undefined() })),
      { type: 'object', properties: { a: { type: 'string' }, b: { not: {} } }, required: [] },
    ],
    ['arktype, optional', type('string | undefined'), { anyOf: [{ type: 'string' }, {}] }],
  ])('has null where undefined comes out of a result: %s', (_, schema, published) => {
    const { $schema, ...result } = defineTask('x:1.0', { result: schema as StandardSchema }).result!
    expect(result).toEqual(published)
  })

  it('has no pattern and no format, where the library is not known', () => {
    const jsonSchema = { input: () => ({ type: 'string', pattern: 'bar', format: 'email', maxLength: 9 }) }
    expect(argsOf({ '~standard': { version: 1, vendor: 'other', jsonSchema } }).args).toEqual({
      type: 'string',
      format: 'idn-email',
      maxLength: 9,
    })
  })
})

import fc from 'fast-check'

/** Levels of arrays and objects. */
export const depthOf = (value: unknown): number =>
  typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0

export const hasProto = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  Object.entries(value).some(([key, inner]) => key === '__proto__' || hasProto(inner))

export const anyText = fc.oneof(
  fc.constantFrom('__proto__', 'constructor', '\ud800', '\udc00x', '\u2028', '"__proto__":', '\\', ''),
  fc.string({ unit: 'binary' }),
)

/**
 * The V8 of Node 24 takes a key with an escape for another one that ends in a backslash there, where an object with that one
 * was read before: JSON.parse itself is wrong then. So no key has a backslash on such a Node.
 */
const readsEscapedKeys = (): boolean => {
  const before = JSON.parse('{"a":0,"\\\\":0,"b":0}')
  const [, key] = Object.keys(JSON.parse('{"a":0,"\\u0041":0,"b":0}'))
  return key === 'A' && before['\\'] === 0
}
const mayHaveBackslash = readsEscapedKeys()
if (!mayHaveBackslash)
  console.log(`Keys with a backslash are not tested: JSON.parse of Node ${process.version} misreads them.`)
const anyKey = mayHaveBackslash ? anyText : anyText.filter(text => !text.includes('\\'))

/** Any JSON value, as JSON.parse makes it: its keys may be the dangerous ones, its texts any code units. */
export const { value: anyJson } = fc.letrec<{ value: unknown; leaf: unknown }>(tie => ({
  leaf: fc.oneof(
    fc.double({ noNaN: true, noDefaultInfinity: true }).map(number => (Object.is(number, -0) ? 0 : number)),
    fc.maxSafeInteger(),
    fc.boolean(),
    fc.constant(null),
    anyText,
  ),
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    tie('leaf'),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.array(fc.tuple(anyKey, tie('value')), { maxLength: 4 }).map(entries => {
      const object = {}
      for (const [key, value] of entries) {
        Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true })
      }
      return object
    }),
  ),
}))

/** The same, about as deep as it may be or a little deeper. */
export const anyDeepJson = fc
  .tuple(anyJson, fc.integer({ min: 55, max: 66 }), fc.boolean())
  .map(([inner, levels, asArray]) => {
    let value = inner
    for (let level = 0; level < levels; level++) value = asArray ? [value] : { a: value }
    return value
  })

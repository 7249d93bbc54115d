// JSON texts made by chance, the same for the same seed, and whether two texts say the same.

/** Mulberry32. */
const chanceOf = seed => () => {
  seed = (seed + 0x6d2b79f5) | 0
  let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
}

const oddNumbers = [
  '-0',
  '-0.0',
  '1.0',
  '1E2',
  '5e-324',
  '1e22',
  '1.7976931348623157e308',
  '0.1234567890123456789',
  '2.50',
]
const oddIntegers = [2n ** 53n, 2n ** 62n, 2n ** 63n, 2n ** 64n, 10n ** 21n, 1253261109769874438n]
const oddKeys = [
  '',
  '0',
  '-1',
  'constructor',
  'toString',
  'prototype',
  'a b',
  'é💚',
  '$ref',
  'args',
  'id',
  '"',
  '\\',
  '/~',
  '\u0000',
]
const oddTexts = [
  '',
  ' ',
  '"\\/',
  '\u0000\n\t\u2028',
  'Zoë 💚',
  'ﷺ',
  '𝒳',
  '__proto__',
  '{}',
  '1253261109769874438',
  '[1e400',
]

class Maker {
  /** Somebody may refuse it: it has a number beyond all doubles, or a key __proto__. */
  mayBeRefused = false

  constructor(chance) {
    this.chance = chance
  }

  below(count) {
    return Math.floor(this.chance() * count)
  }

  one(list) {
    return list[this.below(list.length)]
  }

  number() {
    const kind = this.below(12)
    if (kind < 3) return String(this.below(2000) - 1000)
    if (kind < 5) return String((this.chance() - 0.5) * 10 ** (this.below(40) - 20))
    if (kind < 7) return this.one(oddNumbers)
    if (kind < 10) return String((this.one(oddIntegers) + BigInt(this.below(5) - 2)) * (this.below(2) ? 1n : -1n))
    if (kind < 11 || this.below(20) > 0)
      return `${this.below(2) ? '-' : ''}${Array.from({ length: 17 + this.below(40) }, () => this.below(9) + 1).join('')}`
    this.mayBeRefused = true
    return '1e400'
  }

  text() {
    if (this.below(2)) return this.one(oddTexts)
    return Array.from({ length: this.below(12) }, () =>
      String.fromCodePoint(this.one([97, 48, 233, 0x4e00, 0x1f49a]) + this.below(9)),
    ).join('')
  }

  key() {
    if (this.below(400) === 0) {
      this.mayBeRefused = true
      return '__proto__'
    }
    return this.below(3) ? `${this.text()}${this.below(100)}` : this.one(oddKeys)
  }

  value(depth) {
    const kind = this.below(depth > 5 ? 5 : 8)
    if (kind === 0) return this.one(['null', 'true', 'false'])
    if (kind < 3) return this.number()
    if (kind < 5) return JSON.stringify(this.text())
    const parts = Array.from({ length: this.below(5) }, () => this.value(depth + 1))
    if (kind === 5) return `[${parts}]`
    const keys = new Set(parts.map(() => this.key()))
    return `{${[...keys].map((key, at) => `${JSON.stringify(key)}:${parts[at]}`)}}`
  }
}

/** @returns `count` of `{ text, mayBeRefused }` */
export const generatedValues = (seed, count) => {
  const chance = chanceOf(seed)
  return Array.from({ length: count }, () => {
    const maker = new Maker(chance)
    return { text: maker.value(0), mayBeRefused: maker.mayBeRefused }
  })
}

/** As parseExact of the package, which is tested by this: each number is its text. */
const withTexts = text =>
  JSON.parse(
    text.replace(/"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?|-?\d[\d.eE+-]*/g, (token, colon) =>
      token.startsWith('"') ? (colon ? token : `"t${token.slice(1)}`) : `"n${token}"`,
    ),
  )

/** Whether two JSON texts are of the same value; integers count with all their digits, other numbers as doubles. */
export const saysTheSame = (a, b) => isSame(withTexts(a), withTexts(b))

const isSame = (a, b) => {
  if (typeof a === 'string' && typeof b === 'string')
    return a === b || (a[0] === 'n' && b[0] === 'n' && isSameNumber(a.slice(1), b.slice(1)))
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a === b
  const keys = Object.keys(a)
  if (Array.isArray(a) !== Array.isArray(b) || keys.length !== Object.keys(b).length) return false
  return keys.every(key => Object.hasOwn(b, key) && isSame(a[key], b[key]))
}

const isSameNumber = (a, b) => {
  const areIntegers = [a, b].every(each => /^-?\d+$/.test(each))
  return areIntegers ? BigInt(a) === BigInt(b) : Number(a) === Number(b)
}

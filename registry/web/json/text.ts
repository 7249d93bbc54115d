/** A JSON value as it was written: numbers keep their text, members their order. `at` is where it starts in the text. */
export type JsonNode =
  | { kind: 'object'; at: number; members: [key: string, value: JsonNode][] }
  | { kind: 'array'; at: number; items: JsonNode[] }
  | { kind: 'string'; at: number; value: string }
  | { kind: 'number'; at: number; text: string }
  | { kind: 'literal'; at: number; value: boolean | null }

/** What is wrong with a text, and where. */
export class JsonTextError extends Error {
  readonly at: number

  constructor(message: string, at: number) {
    super(message)
    this.at = at
  }
}

/** Deeper nesting than any task takes; the reader calls itself once per level. */
const maxDepth = 200

const numberPattern = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const literals = [
  ['true', true],
  ['false', false],
  ['null', null],
] as const

/**
 * Reads JSON without changing anything, which JSON.parse does with large integers, keys that look like numbers and
 * keys that come twice.
 * @throws JsonTextError
 */
export const readJson = (text: string): JsonNode => {
  const reader = new Reader(text)
  reader.skipSpace()
  if (reader.isAtEnd()) throw new JsonTextError('This is empty. Write {} for no arguments.', 0)
  const node = reader.value(0)
  reader.skipSpace()
  if (!reader.isAtEnd()) throw reader.wrong('Unexpected text after the end of the value')
  return node
}

/** Line and column, both from 1, of a place in a text. */
export const placeOf = (text: string, at: number): { line: number; column: number } => {
  const before = text.slice(0, at).split('\n')
  return { line: before.length, column: before.at(-1)!.length + 1 }
}

class Reader {
  private readonly text: string
  private at = 0

  constructor(text: string) {
    this.text = text
  }

  isAtEnd(): boolean {
    return this.at >= this.text.length
  }

  wrong(what: string): JsonTextError {
    const found = this.isAtEnd() ? 'the text ends' : `found ${JSON.stringify(String.fromCodePoint(this.code()!))}`
    return new JsonTextError(`${what}: ${found} here.`, this.at)
  }

  skipSpace(): void {
    for (let code = this.text.charCodeAt(this.at); isSpace(code); code = this.text.charCodeAt(++this.at));
  }

  value(depth: number): JsonNode {
    if (depth > maxDepth) throw new JsonTextError(`Nested deeper than ${maxDepth} levels.`, this.at)
    const at = this.at
    const char = this.text[at]
    if (char === '{') return { kind: 'object', at, members: this.members(depth) }
    if (char === '[') return { kind: 'array', at, items: this.items(depth) }
    if (char === '"') return { kind: 'string', at, value: this.string() }
    for (const [word, value] of literals)
      if (this.text.startsWith(word, at)) {
        this.at += word.length
        return { kind: 'literal', at, value }
      }
    numberPattern.lastIndex = at
    const number = numberPattern.exec(this.text)
    if (!number) throw this.wrong('Expected a value')
    this.at += number[0].length
    return { kind: 'number', at, text: number[0] }
  }

  private code(): number | undefined {
    return this.text.codePointAt(this.at)
  }

  private members(depth: number): [string, JsonNode][] {
    const members: [string, JsonNode][] = []
    this.list('}', 'Expected , or } after the value', () => {
      if (this.text[this.at] !== '"') throw this.wrong('Expected a key in double quotes')
      const key = this.string()
      this.skipSpace()
      if (this.text[this.at] !== ':') throw this.wrong('Expected : after the key')
      this.at++
      this.skipSpace()
      members.push([key, this.value(depth + 1)])
    })
    return members
  }

  private items(depth: number): JsonNode[] {
    const items: JsonNode[] = []
    this.list(']', 'Expected , or ] after the value', () => items.push(this.value(depth + 1)))
    return items
  }

  private list(end: string, otherwise: string, entry: () => void): void {
    this.at++
    this.skipSpace()
    if (this.text[this.at] === end) {
      this.at++
      return
    }
    for (;;) {
      entry()
      this.skipSpace()
      const char = this.text[this.at]
      if (char !== ',' && char !== end) throw this.wrong(otherwise)
      this.at++
      if (char === end) return
      this.skipSpace()
      if (this.text[this.at] === end) throw this.wrong('A comma stands before the end')
    }
  }

  private string(): string {
    const start = this.at
    for (this.at++; ; this.at++) {
      const code = this.text.charCodeAt(this.at)
      if (Number.isNaN(code)) throw new JsonTextError('This text in double quotes has no end.', start)
      if (code < 32)
        throw new JsonTextError('A line break or control character must be written as \\n or \\u....', this.at)
      if (code === 34) break
      if (code === 92) this.at += this.escapeLength()
    }
    this.at++
    return JSON.parse(this.text.slice(start, this.at)) as string
  }

  private escapeLength(): number {
    const found = /^\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/.exec(this.text.slice(this.at, this.at + 6))
    if (!found) throw new JsonTextError('There is no such escape; a backslash itself is written as \\\\.', this.at)
    return found[0].length - 1
  }
}

const isSpace = (code: number): boolean => code === 32 || code === 10 || code === 13 || code === 9

/** A value as JSON in one line, its numbers as they were written. */
export const writtenJson = (node: JsonNode): string => {
  if (node.kind === 'object')
    return `{${node.members.map(([key, value]) => `${JSON.stringify(key)}:${writtenJson(value)}`).join(',')}}`
  if (node.kind === 'array') return `[${node.items.map(writtenJson).join(',')}]`
  return node.kind === 'number' ? node.text : JSON.stringify(node.value)
}

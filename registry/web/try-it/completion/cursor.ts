/** What is being written at a place of a text that is to be JSON, and need not be yet. */
export interface Cursor {
  /** What is due there: the key of an object's member, or a value. */
  wants: 'key' | 'value'
  /** Keys and places that lead to the object whose key it is, or to the value. */
  path: (string | number)[]
  /** What is written of it, without quotes. */
  typed: string
  /** Whether it began with a quote. */
  isQuoted: boolean
  /** The part of the text that is to be replaced. */
  from: number
  to: number
  /** Keys that its object, or the object that the value is in, has; those behind the cursor as well. */
  keys: ReadonlySet<string>
  /** Members of the objects on the way to it that are texts, numbers and the like: they tell branches of a schema apart. */
  siblings: readonly ReadonlyMap<string, unknown>[]
  /** Whether a colon follows. */
  hasColon: boolean
}

interface Frame {
  kind: 'object' | 'array'
  expects: 'key' | 'colon' | 'value' | 'comma'
  key: string
  at: number
  keys: Set<string>
  plain: Map<string, unknown>
}

interface Token {
  kind: 'text' | 'word' | 'mark'
  from: number
  to: number
  /** False for a text whose closing quote is missing. */
  isWhole: boolean
}

/** Where in the reading it was found. */
interface Place {
  depth: number
  token: Token | undefined
}

/** A text ends at the latest with its line: an open quote does not swallow what follows. */
const tokens = /"(?:[^"\\\n]|\\(?:.|$))*"?|[{}[\],:]|[^\s"{}[\],:]+/gm
const maxDepth = 200

/** Undefined where nothing can be offered: between a value and the next comma, in the middle of a number, beyond the end. */
export const cursorIn = (text: string, at: number): Cursor | undefined => {
  const reader = new Reader(text, at)
  return reader.read()
}

class Reader {
  readonly #text: string
  readonly #at: number
  readonly #frames: Frame[] = []
  #isRootOver = false
  #found: (Cursor & Place) | undefined

  constructor(text: string, at: number) {
    this.#text = text
    this.#at = at
  }

  read(): Cursor | undefined {
    let isPassed = false
    for (const match of this.#text.matchAll(tokens)) {
      const token = tokenOf(match)
      if (!isPassed && (this.#isAtCursor(token) || token.from >= this.#at)) {
        this.#find(this.#isAtCursor(token) ? token : undefined)
        if (!this.#found) return undefined
        isPassed = true
      }
      this.#take(token)
      // What follows the object says nothing of it.
      if (this.#found && this.#frames.length < this.#found.depth) break
    }
    if (!isPassed) this.#find(undefined)
    return this.#found && withoutPlace(this.#found)
  }

  /** Before a key another one can be written, so that only what the cursor is within is replaced; before a value none can. */
  #isAtCursor({ kind, from, to, isWhole }: Token): boolean {
    if (kind === 'mark' || from > this.#at || to < this.#at) return false
    if (from === this.#at) return this.#frames.at(-1)?.expects !== 'key'
    return to > this.#at || kind === 'word' || !isWhole
  }

  #find(token: Token | undefined): void {
    const frame = this.#frames.at(-1)
    const wants = frame ? frame.expects : this.#isRootOver ? 'comma' : 'value'
    if (wants !== 'key' && wants !== 'value') return
    const part = token ? this.#text.slice(token.from, this.#at) : ''
    const isQuoted = part.startsWith('"')
    const isCutOff = token !== undefined && token.kind === 'text' && !token.isWhole
    const to = token ? (isCutOff ? this.#at : token.to) : this.#at
    this.#found = {
      wants,
      path: this.#frames.slice(0, wants === 'key' ? -1 : undefined).map(stepOf),
      typed: isQuoted ? part.slice(1) : part,
      isQuoted,
      from: token ? token.from : this.#at,
      to,
      keys: frame?.keys ?? new Set(),
      siblings: this.#frames.map(({ plain }) => plain),
      hasColon: /^\s*:/.test(this.#text.slice(to, to + 50)),
      depth: this.#frames.length,
      token,
    }
  }

  #take(token: Token): void {
    const frame = this.#frames.at(-1)
    const mark = token.kind === 'mark' ? this.#text[token.from] : undefined
    // The key that is being written is none of those that are there.
    const isFound = this.#found !== undefined && this.#found.token === token
    if (mark === '{' || mark === '[') this.#open(mark)
    else if (mark === '}' || mark === ']') this.#close()
    else if (mark === ',') {
      if (frame) frame.expects = frame.kind === 'object' ? 'key' : 'value'
      if (frame?.kind === 'array') frame.at++
    } else if (mark === ':') {
      if (frame?.kind === 'object') frame.expects = 'value'
    } else if (frame?.expects === 'key') {
      frame.key = textOf(this.#text, token)
      frame.expects = 'colon'
      if (!isFound) frame.keys.add(frame.key)
    } else {
      if (frame?.kind === 'object' && !isFound) frame.plain.set(frame.key, plainOf(this.#text, token))
      this.#over()
    }
  }

  #open(mark: '{' | '['): void {
    if (this.#frames.length >= maxDepth) return
    const kind = mark === '{' ? 'object' : 'array'
    const expects = mark === '{' ? 'key' : 'value'
    this.#frames.push({ kind, expects, key: '', at: 0, keys: new Set(), plain: new Map() })
  }

  #close(): void {
    this.#frames.pop()
    this.#over()
  }

  #over(): void {
    const frame = this.#frames.at(-1)
    if (frame) frame.expects = 'comma'
    else this.#isRootOver = true
  }
}

const tokenOf = (match: RegExpExecArray): Token => {
  const [text] = match
  const to = match.index + text.length
  if (text.startsWith('"')) {
    const isWhole = text.length > 1 && text.endsWith('"') && backslashesBefore(text, text.length - 1) % 2 === 0
    return { kind: 'text', from: match.index, to, isWhole }
  }
  return { kind: /^[{}[\],:]$/.test(text) ? 'mark' : 'word', from: match.index, to, isWhole: true }
}

const backslashesBefore = (text: string, end: number): number => {
  let at = end
  while (text[at - 1] === '\\') at--
  return end - at
}

const stepOf = ({ kind, key, at }: Frame): string | number => (kind === 'object' ? key : at)

const textOf = (text: string, { kind, from, to, isWhole }: Token): string => {
  const value = kind === 'text' && isWhole ? plainOf(text, { kind, from, to, isWhole }) : undefined
  return typeof value === 'string' ? value : text.slice(from, to).replace(/^"/, '')
}

const plainOf = (text: string, { from, to }: Token): unknown => {
  try {
    return JSON.parse(text.slice(from, to))
  } catch {
    return undefined
  }
}

const withoutPlace = ({ depth: _, token: __, ...cursor }: Cursor & Place): Cursor => cursor

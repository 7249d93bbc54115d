import type { TaskName } from '../wire/names.ts'

/** Names of types, each given once. */
export class TypeNames {
  readonly #taken: Set<string>

  constructor(taken: readonly string[]) {
    this.#taken = new Set(taken)
  }

  /** A name made of words, which may hold anything; a number is put behind one that is taken. */
  free(...words: string[]): string {
    const name = words.map(capital).join('') || 'Part'
    const wanted = /^[A-Za-z]/.test(name) ? name : `T${name}`
    let free = wanted
    for (let count = 2; this.#taken.has(free); count++) free = `${wanted}_${count}`
    this.#taken.add(free)
    return free
  }
}

/** `image/resize` and `1.0` as ImageResize and 1_0. */
export const wordsOf = ({ name, major, minor }: TaskName): string[] => [name, `${major}_${minor}`]

const capital = (word: string): string =>
  word
    .split(/[^A-Za-z0-9_]+|(?<=[A-Za-z])_(?=[A-Za-z])/)
    .filter(part => part !== '')
    .map(part => part[0]!.toUpperCase() + part.slice(1))
    .join('')
    .slice(0, 80)

/** The last step of a pointer that is no keyword. */
export const nameOfPart = (pointer: string): string => {
  const steps = pointer.split('/').filter(step => step !== '' && !keywords.has(step))
  return steps.at(-1) ?? ''
}

const keywords = new Set(['$defs', 'definitions', 'properties', 'items', 'components', 'schemas'])

/** A text as lines of a comment: one line each, whatever ends one in whichever language, and nothing that a terminal or an editor would obey. */
export const commentLines = (text: string): string[] =>
  text
    .trim()
    .split(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/)
    .map(line => line.replace(/[\p{Cc}\p{Cf}]/gu, ' ').trimEnd())
    .slice(0, 100)

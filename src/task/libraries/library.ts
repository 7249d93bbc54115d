export type Side = 'input' | 'output'

/** Whether a pattern may be published, by its text: false wins, when two regular expressions have the same text. */
export type Patterns = Map<string, boolean>

/** Says what is meant and takes anything: readers of a schema see the first, and its library judges. */
export const hinting = (meant: object): { anyOf: object[] } | undefined =>
  Object.keys(meant).length > 0 ? { anyOf: [meant, {}] } : undefined

export interface Library {
  /** What it is asked beside the JSON Schema, in the words of that library. */
  readonly options?: (side: Side, patterns: Patterns) => object
  /** The JSON Schema of a schema for which the library has none, and refuses to write one. */
  readonly written?: (schema: object, side: Side) => object | undefined
  /** Regular expressions of a schema, of a library that does not show them while it writes. */
  readonly regexes?: (schema: object) => Iterable<RegExp>
  /** Formats of PROTOCOL.md, section 9.3, which let pass all that this library does under that name. */
  readonly formats: readonly string[]
  /** Its lengths of texts count UTF-16 units and not code points, of which there may be half as many. */
  readonly countsUnits: boolean
}

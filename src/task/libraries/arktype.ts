import type { Library } from './library.ts'

interface ArkNode {
  readonly kind: string
  readonly rule?: unknown
  readonly flags?: string
}

const arkRegexes = (schema: object): RegExp[] =>
  ((schema as { internal?: { references?: ArkNode[] } }).internal?.references ?? []).flatMap(({ kind, rule, flags }) =>
    kind === 'pattern' && typeof rule === 'string' ? [new RegExp(rule, flags)] : [],
  )

export const arktype: Library = { regexes: arkRegexes, formats: ['ipv4', 'uuid'], countsUnits: true }

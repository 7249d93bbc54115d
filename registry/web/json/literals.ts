import { jsonText } from './exact.ts'

/**
 * What does not show, or changes how the text around it shows: written as an escape, so that a snippet does what it
 * seems to do.
 */
const hidden = /[\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g

const escapeHidden = (json: string): string =>
  json.replace(hidden, char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** JSON that is safe to show and to paste; a lone half of a character is escaped by JSON.stringify itself. */
export const jsonLiteral = (value: unknown, indent?: 2): string => escapeHidden(jsonText(value, indent))

/** One word of a shell's command line, whatever is in it. */
export const shellWord = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`

/** JSON's texts and numbers are JavaScript's as well. */
export const javascriptLiteral = (value: unknown): string => jsonLiteral(value, 2)

export const pythonLiteral = (value: unknown): string =>
  literal(value, {
    null: 'None',
    true: 'True',
    false: 'False',
    pair: (key, inner) => `${key}: ${inner}`,
    text: jsonLiteral,
  })

export const rubyLiteral = (value: unknown): string =>
  literal(value, {
    null: 'nil',
    true: 'true',
    false: 'false',
    pair: (key, inner) => `${key} => ${inner}`,
    text: rubyText,
  })

/** Half of a character that is written as two. */
const loneHalf = /\p{Surrogate}/gu

/** A # can begin code within double quotes, and Ruby has no lone halves of characters. */
const rubyText = (text: string): string => jsonLiteral(text.replace(loneHalf, '\ufffd')).replaceAll('#', '\\#')

interface Language {
  null: string
  true: string
  false: string
  pair(key: string, value: string): string
  text(text: string): string
}

const literal = (value: unknown, language: Language, indent = ''): string => {
  if (value === null) return language.null
  if (typeof value === 'boolean') return language[`${value}`]
  if (typeof value === 'string') return language.text(value)
  if (typeof value !== 'object') return jsonText(value)
  const inner = `${indent}  `
  const lines = Array.isArray(value)
    ? value.map(item => literal(item, language, inner))
    : Object.entries(value!).map(([key, item]) => language.pair(language.text(key), literal(item, language, inner)))
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  return lines.length === 0 ? open + close : `${open}\n${inner}${lines.join(`,\n${inner}`)}\n${indent}${close}`
}

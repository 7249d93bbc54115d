import { jsonText } from '../../json/exact.ts'
import { has, own, ownLimit, ownNumber, ownText } from './json.ts'
import { typeNames, type View } from './view.ts'

/** The limits and the kind of a field in a few words, for the end of its label. */
export const hintOf = (view: View): string => {
  const { keywords } = view.flat
  const hints: string[] = []
  if (view.kind === 'number')
    hints.push(view.integer ? 'whole number' : 'number', range(keywords, 'minimum', 'maximum'))
  if (view.kind === 'text' && view.text === 'file') hints.push('file')
  else if (view.kind === 'text')
    hints.push(view.format ?? 'text', span(keywords, 'minLength', 'maxLength', 'characters'))
  if (view.kind === 'array') hints.push(typeNames.array!, span(keywords, 'minItems', 'maxItems', 'items'))
  if (has(keywords, 'default')) hints.push(`default ${short(own(keywords, 'default'))}`)
  const unit = ownText(keywords, 'x-unit') ?? ownText(keywords, 'unit')
  if (unit !== undefined) hints.push(unit.slice(0, 40))
  return hints.filter(Boolean).join(', ')
}

const short = (value: unknown): string => {
  const text = jsonText(value) ?? ''
  return text.length > 40 ? `${text.slice(0, 40)}...` : text
}

const range = (keywords: object, least: string, most: string): string => {
  const above = ownLimit(keywords, 'exclusiveMinimum')
  const below = ownLimit(keywords, 'exclusiveMaximum')
  const from = ownLimit(keywords, least)
  const to = ownLimit(keywords, most)
  if (from !== undefined && to !== undefined) return `${from} to ${to}`
  const parts = [from !== undefined && `≥ ${from}`, above !== undefined && `> ${above}`]
  return [...parts, to !== undefined && `≤ ${to}`, below !== undefined && `< ${below}`].filter(Boolean).join(', ')
}

const span = (keywords: object, least: string, most: string, what: string): string => {
  const from = ownNumber(keywords, least) ?? 0
  const to = ownNumber(keywords, most)
  if (to !== undefined && from <= 1) return from === to ? `${to} ${what}` : `≤ ${to} ${what}`
  if (to !== undefined) return from === to ? `${to} ${what}` : `${from} to ${to} ${what}`
  return from > 1 ? `≥ ${from} ${what}` : ''
}

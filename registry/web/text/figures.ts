import { inZone } from './zone.ts'

/** Numbers as people read them. All take undefined for what is not known, and show it as a dash. */

const unknown = '–'

const grouped = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })

export const count = (value: number | undefined | null): string => (isKnown(value) ? grouped.format(value) : unknown)

/** Two digits that tell: 0, 0.42, 4.2, 42, 4,200. */
export const amount = (value: number | undefined | null): string => {
  if (!isKnown(value)) return unknown
  const size = Math.abs(value)
  if (size === 0) return '0'
  if (size < 0.01) return '<0.01'
  if (size < 1) return String(Number(value.toFixed(2)))
  if (size < 9.95) return String(Number(value.toFixed(1)))
  return grouped.format(value)
}

export const perSecond = (value: number | undefined | null): string => (isKnown(value) ? `${amount(value)}/s` : unknown)

/** A share from 0 to 1. Only none at all is 0 %. */
export const percent = (share: number | undefined | null): string => {
  if (!isKnown(share)) return unknown
  const value = share * 100
  if (value === 0) return '0 %'
  if (value < 0.1) return '<0.1 %'
  return `${value < 9.95 ? Number(value.toFixed(1)) : Math.round(value)} %`
}

/** A duration in microseconds. */
export const us = (value: number | undefined | null): string => {
  if (!isKnown(value)) return unknown
  if (value < 1000) return `${Math.round(value)} µs`
  return ms(value / 1000)
}

/** A duration in milliseconds. */
export const ms = (value: number | undefined | null): string => {
  if (!isKnown(value)) return unknown
  if (value < 1) return value === 0 ? '0 ms' : `${Math.round(value * 1000)} µs`
  if (value < 9.95) return `${Number(value.toFixed(1))} ms`
  if (value < 999.5) return `${Math.round(value)} ms`
  if (value < 9950) return `${Number((value / 1000).toFixed(1))} s`
  return span(value)
}

const units = [
  { name: 'd', seconds: 86_400 },
  { name: 'h', seconds: 3600 },
  { name: 'min', seconds: 60 },
  { name: 's', seconds: 1 },
]

/** A longer duration by its two largest units: 2 d 4 h, 3 min 20 s, 12 s. */
export const span = (valueMs: number | undefined | null): string => {
  if (!isKnown(valueMs)) return unknown
  const seconds = Math.max(0, Math.round(valueMs / 1000))
  const first = units.findIndex(unit => seconds >= unit.seconds)
  if (first < 0) return '0 s'
  const large = units[first]!
  const small = units[first + 1]
  const rest = seconds % large.seconds
  const head = `${Math.floor(seconds / large.seconds)} ${large.name}`
  if (!small || rest < small.seconds) return head
  return `${head} ${Math.floor(rest / small.seconds)} ${small.name}`
}

/** How long ago, by its largest unit: a page full of times is read at a glance. */
export const ago = (ageMs: number | undefined | null): string => {
  if (!isKnown(ageMs)) return unknown
  const seconds = Math.round(ageMs / 1000)
  if (seconds < 1) return 'now'
  const unit = units.find(({ seconds: least }) => seconds >= least)!
  return `${Math.floor(seconds / unit.seconds)} ${unit.name} ago`
}

export const bytes = (value: number | undefined | null): string => {
  if (!isKnown(value)) return unknown
  if (value < 1000) return `${Math.round(value)} B`
  const names = ['kB', 'MB', 'GB', 'TB']
  const at = Math.min(names.length - 1, Math.floor(Math.log10(value) / 3) - 1)
  return `${amount(value / 1000 ** (at + 1))} ${names[at]}`
}

/** `1 worker`, `2 workers`. */
export const plural = (value: number, one: string, many = `${one}s`): string =>
  `${count(value)} ${value === 1 ? one : many}`

/** Date and time in the chosen zone, which the tooltip names. */
export const dateTime = (atMs: number): string =>
  isDate(inZone(atMs)) ? `${partsOf(atMs)[0]} ${clock(atMs)}` : unknown

export const clock = (atMs: number): string => (isDate(inZone(atMs)) ? partsOf(atMs)[1]!.slice(0, 8) : unknown)

/** Years beyond 9999 have a sign and six digits, so that nothing is at a fixed place. */
const partsOf = (atMs: number): string[] => inZone(atMs).toISOString().split('T')

/** The last moments that a date can have are beyond it in another zone. */
const isDate = (date: Date): boolean => Number.isFinite(date.getTime())

const isKnown = (value: number | undefined | null): value is number => Number.isFinite(value)

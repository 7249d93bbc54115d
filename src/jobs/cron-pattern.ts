/** The patterns of schedules, which all languages read alike. PROTOCOL.md, section 10.14. */

const nicknames: Record<string, string> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
}
const months = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC']
const days = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT']

interface Field {
  name: string
  least: number
  most: number
  /** Of the first values. */
  names: readonly string[]
  /** For people: what it takes beside numbers. */
  more: string
  /** What there is beside numbers, names, ranges and steps. */
  special?: RegExp
}

const fields: readonly Field[] = [
  { name: 'second', least: 0, most: 59, names: [], more: '' },
  { name: 'minute', least: 0, most: 59, names: [], more: '' },
  { name: 'hour', least: 0, most: 23, names: [], more: '' },
  { name: 'day of month', least: 1, most: 31, names: [], more: ', L', special: /^L$/ },
  { name: 'month', least: 1, most: 12, names: months, more: ', names as JAN' },
  {
    name: 'day of week',
    least: 0,
    most: 7,
    names: days,
    more: ', names as MON, 1#2, 5L',
    special: /^(?:[0-7]|SUN|MON|TUE|WED|THU|FRI|SAT)(?:#[1-5]|L)$/,
  },
]
const itemPattern = /^(?:\*|(\d{1,2}|[A-Z]{3})(?:-(\d{1,2}|[A-Z]{3}))?)(?:\/(\d{1,2}))?$/

/**
 * croner knows more than what libraries of other languages agree about, and a worker in any of them keeps a schedule up: what is not
 * understood alike everywhere is refused.
 * @returns the pattern in five or six fields
 * @throws Error whose message ends a sentence, without a full stop
 */
export const readPattern = (cron: string): string => {
  const texts = (nicknames[cron.trim().toLowerCase()] ?? cron).toUpperCase().replaceAll('?', '*').trim().split(/\s+/)
  if (texts.length !== 5 && texts.length !== 6)
    throw new Error(
      'it must have five fields (minute, hour, day of month, month, day of week), or six with seconds in front',
    )
  for (const [at, text] of texts.entries())
    for (const item of text.split(',')) checkItem(fields[at + 6 - texts.length]!, item)
  return texts.join(' ')
}

const checkItem = (field: Field, item: string): void => {
  if (field.special?.test(item)) return
  const { name, least, most, more } = field
  const takes = `it takes ${least} to ${most}${more}, *, lists, ranges as 1-5 and steps as */2 or 1-5/2`
  const wrong = new Error(`its ${name} cannot be '${item.slice(0, 40)}'; ${takes}`)
  const match = itemPattern.exec(item)
  if (!match) throw wrong
  const [, first, last, step] = match
  const low = first === undefined ? least : numberOf(field, first)
  // A week may end with a Sunday.
  const high = last === 'SUN' ? 7 : last === undefined ? low : numberOf(field, last)
  const size = most - least + (most === 7 ? 0 : 1)
  const every = step === undefined ? 1 : Number(step)
  const isStepOfOne = step !== undefined && first !== undefined && last === undefined
  if (!(low <= high) || every < 1 || every > size || isStepOfOne) throw wrong
}

/** NaN for what is none. */
const numberOf = ({ least, most, names }: Field, text: string): number => {
  const named = names.indexOf(text)
  if (named >= 0) return named + least
  const number = Number(text)
  return number >= least && number <= most ? number : Number.NaN
}

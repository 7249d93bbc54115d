import type { Patterns } from './library.ts'

/** Notes whether the pattern of a regular expression may be told. */
export const note = (patterns: Patterns, regex: RegExp, isTold = meansTheSame(regex)): void => {
  patterns.set(regex.source, isTold && patterns.get(regex.source) !== false)
}

/** Whether it matches the same texts as its source does under the flag u, as patterns of JSON Schemas are read. */
export const meansTheSame = ({ source, flags }: Pick<RegExp, 'source' | 'flags'>): boolean => {
  if (/[imsvy]/.test(flags)) return false
  try {
    new RegExp(source, 'u')
  } catch {
    return false
  }
  return flags.includes('u') || !countsUnits(source)
}

/** Whether one without the flag u could take half of a character for one, or reads an escape in another way. */
const countsUnits = (source: string): boolean => {
  if (/[\ud800-\udfff]|\\u(?:\{|[dD][89a-fA-F])|\\[pPk]/.test(source)) return true
  const atoms = [...source.matchAll(/\[(?:\\.|[^\]\\])*\]|\\.|./gs)]
  const wide = atoms.filter(([atom]) => atom === '.' || /^\\[DSW]$|^\[(?:\^|.*\\[DSW])/s.test(atom))
  if (wide.length === 0) return false
  const [{ 0: atom, index }] = wide as [RegExpExecArray]
  // A run of any characters is the same run, in whatever they are counted, unless it may begin anew inside of one.
  return wide.length > 1 || !/[*+]/.test(source.charAt(index + atom.length)) || /\)[*+?{]/.test(source)
}

/** Whether a pattern may take long, as far as that is to be seen at a glance. */
export const hasGroups = (pattern: string): boolean => /[(|]/.test(pattern)

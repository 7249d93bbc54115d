/** What is meant by escapes of other languages, and of a pattern without its flag u. */
const meant: Record<string, string> = { A: '^', Z: '$', z: '$' }

/** What is wrong with a pattern, and what to write instead; undefined: nothing. */
export const wrongPattern = (pattern: string): string | undefined => {
  try {
    new RegExp(pattern, 'u')
    return undefined
  } catch {
    return `must be a regular expression of ECMA-262 with its flag u${adviceFor(pattern)}`
  }
}

const adviceFor = (pattern: string): string => {
  if (pattern.includes('(?P<')) return '; write (?< instead of (?P<'
  for (const [part] of pattern.matchAll(/\[(?:\\.|[^\]\\])*\]|\\./gsu)) {
    const isClass = part.startsWith('[')
    for (const [escaped] of isClass ? part.matchAll(/\\./gsu) : [[part]]) {
      const char = escaped!.slice(1)
      const plain = meant[char] ?? (/[-!"#%&',:;<=>@_`~ ]/.test(char) && !(isClass && char === '-') ? char : undefined)
      if (plain !== undefined) return `; write ${plain} instead of ${escaped}`
    }
  }
  return ''
}

/**
 * Whether a foreign pattern may be run in the page itself: nothing in it can backtrack for long on a short text. Everything
 * else is left to the checks, which run in a worker that is ended when it takes too long.
 */
const isTame = (pattern: string): boolean =>
  pattern.length <= 200 &&
  !/\)[*+{?]/.test(pattern) &&
  !/\\[1-9k]/.test(pattern) &&
  (pattern.match(/[*+]|\{\d+,\d*\}/g) ?? []).length <= 2

/** Whether the text matches; undefined where that cannot be said without risk. */
export const matches = (pattern: string, text: string): boolean | undefined => {
  if (!isTame(pattern) || text.length > 256) return undefined
  try {
    return new RegExp(pattern, 'u').test(text)
  } catch {
    return undefined
  }
}

/** What somebody typed into a search, as words in small letters. */
export const wordsOf = (search: string): string[] => search.toLowerCase().split(/\s+/).filter(Boolean)

/** Whether a text has all of these words. */
export const hasWords = (text: string, words: readonly string[]): boolean => {
  const small = text.toLowerCase()
  return words.every(word => small.includes(word))
}

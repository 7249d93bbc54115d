/** As RFC 8785 (JSON Canonicalization Scheme) writes it: the same text in all languages, in whatever order keys were written. */
export const canonical = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(canonical)}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${fields.map(([key, inner]) => `${JSON.stringify(key)}:${canonical(inner)}`)}}`
}

/** The same of JSON that was written in another way. */
export const canonicalText = (json: string): string => canonical(JSON.parse(json))

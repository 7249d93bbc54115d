const maxLength = 200

/** A name or a label in a row of a chart record; what Redis has may be anything. */
export const isRowText = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && value.length <= maxLength

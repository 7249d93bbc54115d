// What samples are summed up by.

/** The value that the share `q` of the numbers does not reach; undefined without any. */
export const quantile = (numbers, q) => {
  const sorted = numbers.filter(number => number !== undefined).sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))]
}

export const median = numbers => quantile(numbers, 0.5)

/** Least and most; a loop, because a spread of as many waits as a load has would not fit the stack. */
export const range = numbers =>
  numbers.reduce(
    ([least, most], number) => [Math.min(least, number), Math.max(most, number)],
    [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
  )

// What samples are summed up by.

/** The value that the share `q` of the numbers does not reach; undefined without any. */
export const quantile = (numbers, q) => {
  const sorted = numbers.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))]
}

export const median = numbers => quantile(numbers, 0.5)

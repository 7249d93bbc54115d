/** Not more than that many at a time for those that have one promise or one Redis transaction for all. */
const chunk = 1000

export const chunked = async (count, act) => {
  for (let from = 0; from < count; from += chunk) await act(from, Math.min(count, from + chunk))
}

export const listed = (from, to, make) => Array.from({ length: to - from }, (_, n) => make(from + n))

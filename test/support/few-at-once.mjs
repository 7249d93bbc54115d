/**
 * Does `work` for each element of a list, `most` at a time; `tell` hears of the results in the order of the list, each as soon as
 * all before it are there.
 * @template T, R
 * @param {T[]} list
 * @param {number} most
 * @param {(element: T) => Promise<R>} work
 * @param {(result: R) => void} tell
 * @returns {Promise<R[]>}
 */
export const fewAtOnce = async (list, most, work, tell) => {
  const results = []
  const ended = list.map(() => false)
  const waiting = list.entries()
  let told = 0
  const lane = async () => {
    for (const [index, element] of waiting) {
      results[index] = await work(element)
      ended[index] = true
      while (ended[told]) tell(results[told++])
    }
  }
  await Promise.all(Array.from({ length: most }, lane))
  return results
}

import { isDeepStrictEqual } from 'node:util'
import { ExactNumber } from 'pshub'
import { placeholder } from '../schema/secrets.ts'
import { isObject, own } from '../schema/steps.ts'
import { Refusal } from './refusal.ts'

/**
 * Arguments that somebody edited, with what had been hidden from them in its place again. What is hidden in an item of a list comes back
 * only where the list is as long and that item as it was: what was put in another order or left out is not to get the secret of another one.
 *
 * @param stored as they are; `shown` as they were seen
 * @throws Refusal for a mask in whose place nothing can be put
 */
export const filledBack = (stored: unknown, shown: unknown, given: unknown, path = ''): unknown => {
  if (given === placeholder) {
    if (shown === placeholder) return stored
    throw new Refusal(
      400,
      'BadRequest',
      `The arguments still have ${placeholder} in ${path || 'their place'}: enter the value.`,
    )
  }
  if (isDeepStrictEqual(given, shown)) return stored
  if (Array.isArray(given)) {
    const before = Array.isArray(shown) && Array.isArray(stored) && shown.length === given.length ? stored : undefined
    return given.map((item, at) => {
      const place = `${path}/${at}`
      if (before && isDeepStrictEqual(item, (shown as unknown[])[at])) return before[at]
      // Nothing was shown in its place, so that nothing comes back.
      return filledBack(undefined, undefined, item, place)
    })
  }
  if (!isObject(given) || given instanceof ExactNumber) return given
  return Object.fromEntries(
    Object.entries(given).map(([key, item]) => [
      key,
      filledBack(own(stored, key), own(shown, key), item, `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`),
    ]),
  )
}

// What a function may return in place of a value.

/** Whether it has to be awaited: a promise, or what behaves like one. */
export const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'

/** What a handler returns that yields: what `async function*` and `function*` make, or anything that can be read with `for await`. */
export type Yielding = AsyncIterable<unknown> | Generator<unknown>

export const isYielding = (value: unknown): value is Yielding =>
  typeof value === 'object' &&
  value !== null &&
  (Symbol.asyncIterator in value ||
    (Symbol.iterator in value && typeof (value as { next?: unknown }).next === 'function'))

/** Made by `function*` or `async function*`, also in another realm. */
export const isGenerator = (handler: object): boolean => /Generator/.test(Object.prototype.toString.call(handler))

import { maxBatchBytes } from './queue.ts'

/** So many entries go in one write at the most. */
const maxBatch = 256

/** Whether a batch of so many entries and characters takes no further one of this size. A single one may be larger. */
export const isBatchFull = (count: number, chars: number, size: number): boolean =>
  count >= maxBatch || (count > 0 && chars + size > maxBatchBytes)

/** Divides what is sent together: neither more than `maxBatch` entries nor much more than a megabyte goes in one write. */
export function* batchesOf<T>(entries: Iterable<T>, sizeOf: (entry: T) => number): Generator<T[]> {
  let batch: T[] = []
  let chars = 0
  for (const entry of entries) {
    const size = sizeOf(entry)
    if (isBatchFull(batch.length, chars, size)) {
      yield batch
      batch = []
      chars = 0
    }
    batch.push(entry)
    chars += size
  }
  if (batch.length > 0) yield batch
}

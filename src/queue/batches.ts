import { maxBatchBytes } from './queue.ts'

/** So many entries go in one write at the most. */
export const maxBatch = 256

/** Divides what is sent together: neither more than `maxBatch` entries nor much more than a megabyte goes in one write. */
export function* batchesOf<T>(entries: readonly T[], sizeOf: (entry: T) => number): Generator<T[]> {
  let batch: T[] = []
  let chars = 0
  for (const entry of entries) {
    const size = sizeOf(entry)
    if (batch.length === maxBatch || (batch.length > 0 && chars + size > maxBatchBytes)) {
      yield batch
      batch = []
      chars = 0
    }
    batch.push(entry)
    chars += size
  }
  if (batch.length > 0) yield batch
}

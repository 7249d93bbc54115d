import { isCount } from '../wire/foreign.ts'

/**
 * How many values fell where, in whole microseconds: exact up to 31, and above that in 16 equal parts of each power of two,
 * so that a quantile is off by at most 1/32 of itself. Recording costs one increment, histograms of different workers add
 * up, and the JSON of one is a list of numbers that any language writes in a few lines (PROTOCOL.md, section 11.2).
 *
 * Why no library: hdr-histogram-js writes deflated, base64-wrapped variable-length integers of its own, and
 * @datadog/sketches-js protobuf; a worker in Python or Ruby would need as large a counterpart of either. Both are slower to
 * record, by a logarithm or by much memory per histogram.
 */
export interface HistogramJson {
  /** Pairs, flattened: how far this bucket is from the one before (the first: from 0), and how many values it holds. */
  counts: number[]
  /** Of all values, microseconds. */
  sum: number
  /** The largest value, microseconds. */
  max: number
}

const partBits = 4
const parts = 1 << partBits
/** Up to here, some 38 hours: larger values count as this one. A call lasts a day at most. */
export const largestUs = 2 ** 37 - 1
const bucketCount = 34 * parts
/** Buckets are allocated so many at a time; values of one task lie near each other. */
const chunk = 32

/** The bucket of a whole number from 0 to largestUs. */
export const bucketOf = (us: number): number => {
  if (us < 2 * parts) return us
  // Numbers have bits only up to 2^31; beyond that the lowest 16 say nothing about the bucket.
  return us < 2 ** 31 ? bucketOfBits(us) : bucketOfBits(Math.floor(us / 65_536)) + 16 * parts
}

const bucketOfBits = (us: number): number => {
  const shift = 27 - Math.clz32(us)
  return shift * parts + (us >>> shift)
}

/** What stands for all values of a bucket: its middle. */
export const middleOf = (bucket: number): number => {
  if (bucket < 2 * parts) return bucket
  const shift = Math.floor(bucket / parts) - 1
  return (bucket - shift * parts) * 2 ** shift + 2 ** (shift - 1)
}

export class Histogram {
  /** Counts of the buckets from #from on; grows to where values are. A plain list: typed ones cost a collector more, where there are 100,000 short ones. */
  #counts: number[] = []
  #from = 0
  #count = 0
  #sum = 0
  #max = 0

  get count(): number {
    return this.#count
  }

  /** Microseconds. */
  get sum(): number {
    return this.#sum
  }

  /** Microseconds. */
  get max(): number {
    return this.#max
  }

  /** Anything that is not a number above 0 counts as 0, fractions are cut off. */
  record(us: number): void {
    const value = us > 0 ? Math.min(Math.floor(us), largestUs) : 0
    this.#addTo(bucketOf(value), 1)
    this.#sum += value
    if (value > this.#max) this.#max = value
  }

  /** How many values are at most each of these bounds, which ascend, and at the end how many there are. A value counts as the middle of its bucket. */
  within(bounds: readonly number[]): number[] {
    const counts = new Array<number>(bounds.length).fill(0)
    let at = 0
    let sum = 0
    this.#counts.forEach((count, index) => {
      if (count === 0) return
      const middle = middleOf(this.#from + index)
      while (at < bounds.length && middle > bounds[at]!) counts[at++] = sum
      sum += count
    })
    return [...counts.fill(sum, at), this.#count]
  }

  /** Adds what another one recorded. */
  add(other: Histogram): void {
    if (other.#count === 0) return
    const { length } = other.#counts
    this.#cover(other.#from, other.#from + length)
    const offset = other.#from - this.#from
    for (let at = 0; at < length; at++) this.#counts[offset + at]! += other.#counts[at]!
    this.#count += other.#count
    this.#sum += other.#sum
    this.#max = Math.max(this.#max, other.#max)
  }

  /**
   * The value that the share `q` (0 to 1) of all values does not exceed, off by at most 1/32 of itself; 1 is the largest
   * value, exactly. Undefined without any.
   */
  quantile(q: number): number | undefined {
    if (this.#count === 0) return undefined
    const rank = Math.max(1, Math.ceil(q * this.#count))
    if (rank >= this.#count) return this.#max
    let seen = 0
    for (let at = 0; at < this.#counts.length; at++) {
      seen += this.#counts[at]!
      if (seen >= rank) return Math.min(middleOf(this.#from + at), this.#max)
    }
    return this.#max
  }

  toJSON(): HistogramJson {
    const counts: number[] = []
    let last = 0
    for (let at = 0; at < this.#counts.length; at++) {
      const count = this.#counts[at]!
      if (count === 0) continue
      counts.push(this.#from + at - last, count)
      last = this.#from + at
    }
    return { counts, sum: this.#sum, max: this.#max }
  }

  /** Reads what somebody wrote, who may have written anything: undefined when it is no histogram. Never throws. */
  static from(value: unknown): Histogram | undefined {
    if (typeof value !== 'object' || value === null) return undefined
    const { counts, sum, max } = value as Partial<Record<keyof HistogramJson, unknown>>
    if (!Array.isArray(counts) || counts.length > 2 * bucketCount || counts.length % 2 === 1) return undefined
    if (!isCount(max, largestUs)) return undefined
    const histogram = new Histogram()
    let bucket = 0
    // Room for all of them at once: they are read by the thousand.
    if (counts.length > 0 && isCount(counts[0], bucketOf(max))) histogram.#cover(counts[0], bucketOf(max) + 1)
    for (let at = 0; at < counts.length; at += 2) {
      const [distance, count] = [counts[at], counts[at + 1]]
      if (!isCount(distance, bucketCount) || !isCount(count)) return undefined
      bucket += distance
      if (bucket >= bucketCount || count === 0 || (at > 0 && distance === 0)) return undefined
      histogram.#addTo(bucket, count)
    }
    // The largest value lies in the last bucket; of no values it is 0.
    if (bucketOf(max) !== bucket || !isCount(sum, histogram.#count * max)) return undefined
    histogram.#sum = sum
    histogram.#max = max
    return histogram
  }

  #addTo(bucket: number, count: number): void {
    this.#cover(bucket, bucket + 1)
    this.#counts[bucket - this.#from]! += count
    this.#count += count
  }

  /** Makes room for the buckets from `first` up to `end`. */
  #cover(first: number, end: number): void {
    const { length } = this.#counts
    if (first >= this.#from && end <= this.#from + length) return
    const from = Math.floor((length > 0 ? Math.min(this.#from, first) : first) / chunk) * chunk
    const to = Math.ceil(Math.max(this.#from + length, end) / chunk) * chunk
    const counts = new Array<number>(to - from).fill(0)
    for (let at = 0; at < length; at++) counts[this.#from - from + at] = this.#counts[at]!
    this.#counts = counts
    this.#from = from
  }
}

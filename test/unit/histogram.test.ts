import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bucketOf, Histogram, largestUs, middleOf } from '../../src/figures/histogram.ts'
import { read } from '../support/protocol-document.ts'

const recorded = (values: number[]): Histogram => {
  const histogram = new Histogram()
  for (const value of values) histogram.record(value)
  return histogram
}
const sumOf = (...histograms: Histogram[]): Histogram => {
  const sum = new Histogram()
  for (const histogram of histograms) sum.add(histogram)
  return sum
}
/** Spread over all powers of two, as waits are: uniform numbers are nearly all large. */
const wait = fc
  .tuple(fc.integer({ min: 0, max: 36 }), fc.double({ min: 1, max: 2, noNaN: true }))
  .map(([power, factor]) => Math.floor(2 ** power * factor) - 1)
const waits = fc.array(wait, { minLength: 1, maxLength: 300 })

describe('a histogram', () => {
  it('has buckets without gaps, each value within 1/32 of what stands for it', () => {
    let last = -1
    for (let value = 0; value < 200_000; value++) {
      const bucket = bucketOf(value)
      if (bucket !== last && bucket !== last + 1) expect.unreachable(`the bucket of ${value} is ${bucket}`)
      last = bucket
    }
    fc.assert(
      fc.property(wait, value => {
        expect(Math.abs(middleOf(bucketOf(value)) - value)).toBeLessThanOrEqual(value / 32)
        expect(bucketOf(value + 1) - bucketOf(value)).toBeLessThanOrEqual(1)
      }),
    )
    expect(bucketOf(largestUs)).toBe(543)
  })

  it('gives each quantile within 1/32 of the exact one, and count, sum and largest exactly', () => {
    fc.assert(
      fc.property(waits, fc.double({ min: 0, max: 1, noNaN: true }), (values, q) => {
        const histogram = recorded(values)
        const sorted = [...values].sort((a, b) => a - b)
        const exact = sorted[Math.max(1, Math.ceil(q * values.length)) - 1]!
        expect(Math.abs(histogram.quantile(q)! - exact)).toBeLessThanOrEqual(exact / 32)
        expect(histogram.count).toBe(values.length)
        expect(histogram.sum).toBe(values.reduce((sum, value) => sum + value, 0))
        expect(histogram.quantile(1)).toBe(sorted.at(-1))
      }),
    )
    expect(new Histogram().quantile(0.5)).toBeUndefined()
  })

  it('added up is the same as recorded together, in any order and grouping', () => {
    fc.assert(
      fc.property(waits, waits, waits, (first, second, third) => {
        const [a, b, c] = [recorded(first), recorded(second), recorded(third)]
        const all = recorded([...first, ...second, ...third]).toJSON()
        expect(sumOf(a, b, c).toJSON()).toEqual(all)
        expect(sumOf(c, sumOf(b, a)).toJSON()).toEqual(all)
        expect(sumOf(sumOf(a, c), b, new Histogram()).toJSON()).toEqual(all)
      }),
    )
  })

  it('is read as it was written', () => {
    fc.assert(
      fc.property(fc.array(wait), values => {
        const written = recorded(values).toJSON()
        const copy = Histogram.from(JSON.parse(JSON.stringify(written)))!
        expect(copy.toJSON()).toEqual(written)
        expect(copy.count).toBe(values.length)
      }),
    )
  })

  it('takes whatever it is told', () => {
    const histogram = recorded([Number.NaN, -5, 0.9, Number.POSITIVE_INFINITY, 1e300, 41.99])
    expect(histogram.toJSON()).toEqual({
      counts: [0, 3, bucketOf(41), 1, 543 - bucketOf(41), 2],
      sum: 2 * largestUs + 41,
      max: largestUs,
    })
  })

  it('of a stranger is one or nothing, and never throws', () => {
    const number = fc.oneof(fc.integer({ min: -3, max: 600 }), fc.double(), fc.constant('1'))
    const foreign = fc.oneof(
      fc.anything(),
      fc.record({ counts: fc.oneof(fc.array(number), fc.anything()), sum: number, max: number }, { requiredKeys: [] }),
    )
    fc.assert(
      fc.property(foreign, value => {
        const histogram = Histogram.from(value)
        if (histogram === undefined) return
        expect(histogram.toJSON()).toEqual(value)
        const p99 = histogram.quantile(0.99)
        if (p99 !== undefined) expect(p99).toBeLessThanOrEqual(histogram.max)
      }),
    )
  })
})

describe('histograms.json', () => {
  const { buckets, cases, merged, refused } = JSON.parse(read('clients/vectors/histograms.json'))
  const quantilesOf = (histogram: Histogram, asked: [number, number | null][]) =>
    asked.map(([q]) => [q, histogram.quantile(q) ?? null])

  it('buckets', () => {
    for (const [value, bucket, middle] of buckets) expect([bucketOf(value), middleOf(bucket)]).toEqual([bucket, middle])
  })

  for (const { title, values, histogram, quantiles } of cases) {
    it(title, () => {
      const own = recorded(values)
      expect(own.toJSON()).toEqual(histogram)
      expect(quantilesOf(own, quantiles)).toEqual(quantiles)
      expect(quantilesOf(Histogram.from(histogram)!, quantiles)).toEqual(quantiles)
    })
  }

  it('merged', () => {
    for (const { parts, histogram, quantiles } of merged) {
      const sum = sumOf(...parts.map((part: unknown) => Histogram.from(part)!))
      expect(sum.toJSON()).toEqual(histogram)
      expect(quantilesOf(sum, quantiles)).toEqual(quantiles)
    }
  })

  for (const { text, why } of refused) {
    it(`refused: ${why}`, () => expect(Histogram.from(JSON.parse(text)), text).toBeUndefined())
  }
})

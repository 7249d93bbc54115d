import { expect, it } from 'vitest'
import { isLong } from '../support/runs.ts'
import { Generator, randomOf } from '../support/schema-judges/generate.ts'
import { type Case, judged, judgeIn, type Verdict } from '../support/schema-judges/judges.ts'

const seed = Number(process.env.PSHUB_SCHEMA_SEED ?? (isLong ? Date.now() % 1_000_000 : 38))
const count = Number(process.env.PSHUB_SCHEMA_RUNS ?? (isLong ? 5_000 : 150))

const cases: Case[] = Array.from({ length: count }, (_, index) => {
  const generator = new Generator(randomOf(seed * 10_000 + index))
  return { schema: generator.schema(), values: Array.from({ length: 8 }, () => generator.value()) }
})

/** What differs of two verdicts. What comes from the registry may go unchecked, and else says the same. */
const difference = (one: Verdict, other: Verdict): string | undefined => {
  if ('rejected' in one || 'rejected' in other) {
    const [left, right] = [one, other].map(each => ('rejected' in each ? each.rejected : 'taken'))
    return left === right ? undefined : `${left} <> ${right}`
  }
  const at = one.fits.findIndex((fits, index) => fits !== other.fits[index])
  if (at !== -1) return `value ${at}: ${one.fits[at]} <> ${other.fits[at]}`
  const unlike = other.foreign?.findIndex((fits, index) => fits !== undefined && fits !== other.fits[index]) ?? -1
  return unlike === -1 ? undefined : `value ${unlike}: as its own or from the registry`
}

it(`${count} generated schemas mean the same in all languages (seed ${seed})`, { timeout: 600_000 }, async () => {
  const verdicts = cases.map(judged)
  const others = (['python', 'ruby'] as const).map(language => [language, judgeIn(language)] as const)
  const found: string[] = []
  const compare = (language: string, told: Verdict[]) => {
    for (const [index, one] of cases.entries()) {
      const differs = difference(verdicts[index]!, told[index]!)
      if (differs) found.push(`${language}: ${differs}\n${JSON.stringify(one)}`)
    }
  }
  compare('typescript', verdicts)
  await Promise.all(others.map(async ([language, judge]) => judge && compare(language, await judge.all(cases))))
  expect(found.slice(0, 10)).toEqual([])
  // A generator that makes nothing but what is rejected would find nothing.
  expect(verdicts.filter(each => 'fits' in each).length).toBeGreaterThan(count / 4)
})

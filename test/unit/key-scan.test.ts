import { expect, it } from 'vitest'
import { Catalogue } from '../../src/catalogue/catalogue.ts'
import { checkup } from '../../src/catalogue/looks/checkup.ts'
import type { Overview } from '../../src/catalogue/overview.ts'
import { readEndedJobs } from '../../src/jobs/lists/ended-jobs.ts'
import type { Redis } from '../../src/redis/client.ts'
import { KeyScan } from '../../src/redis/key-scan.ts'
import { makeKeys } from '../../src/wire/keys.ts'

const keys = makeKeys('n')
const key = (id: string) => keys.queue('q').job(id)

/** Answers SCAN with these keys: the step of cursor 0 first, that of cursor 1 behind it, and so on. Every job is done. */
const scanned = (...steps: string[][]): Redis => ({
  sendCommand: async ({ name, args: [cursor] }) =>
    name === 'scan'
      ? [String((Number(cursor) + 1) % steps.length), steps[Number(cursor)]]
      : ['done', 't:1.0', '0', null, '1', null, '1', '1', 'w'],
})

const pageOf = async (redis: Redis, limit: number, from?: string) => {
  const { jobs, next } = await readEndedJobs(redis, new Catalogue(keys), keys, { limit, from })
  return { ids: jobs.map(({ id }) => id), next }
}

it('a job is listed once, however often SCAN returns it', async () => {
  const redis = scanned([key('a'), key('b'), key('a')], [key('b'), key('c')], [key('c'), key('a')])
  expect(await pageOf(redis, 100)).toEqual({ ids: ['a', 'b', 'c'], next: undefined })
})

it('a job is on one page alone, though SCAN returns it for the next page again', async () => {
  const redis = scanned([key('a'), key('b')], [key('b'), key('a'), key('c'), key('d')])
  const first = await pageOf(redis, 2)
  const second = await pageOf(redis, 1, first.next)
  const third = await pageOf(redis, 9, second.next)
  expect([first, second, third].map(({ ids }) => ids)).toEqual([['a', 'b'], ['c'], ['d']])
})

it('a page begins behind the job before it, whatever has expired meanwhile', async () => {
  const { next } = await pageOf(scanned([key('b'), key('c'), key('d')]), 2)
  expect((await pageOf(scanned([key('d'), key('e'), key('c')]), 9, next)).ids).toEqual(['d', 'e'])
})

it('pshub check counts a strange key once', async () => {
  const overview = { workers: [], tasks: [], atMs: 0 } as unknown as Overview
  const findings = await checkup(scanned(['n:odd', 'n:odd'], ['n:odd', 'n:other']), keys, overview)
  expect(findings.at(-1)!.message).toMatch(/^"n:odd", "n:other" in this namespace/)
})

it('what is remembered of a scan, and goes with its next page, is bounded', async () => {
  const scan = new KeyScan()
  const many = Array.from({ length: 5000 }, (_, n) => key(`j${n}`))
  expect((await scan.step(scanned(many), '0')).keys).toEqual(many)
  expect(scan.memory).toHaveLength(32 * 8)
  // The first ones are forgotten, the latest are not.
  const again = await scan.step(scanned([many[0]!, many[4999]!]), '0')
  expect(again.keys).toEqual([many[0]])
  expect((await new KeyScan(scan.memory).step(scanned([many[4999]!, key('new')]), '0')).keys).toEqual([key('new')])
})

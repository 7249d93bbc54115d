import { expect } from 'vitest'
import type { Hub } from '../../src/index.ts'

/** All that a registry does with what it keeps in Redis: who is logged in, and its charts. */
export const keepAsRegistry = async ({ sessions, charts }: Hub): Promise<void> => {
  await sessions.write('digest', 'who', 60_000)
  expect(await sessions.read('digest')).toBe('who')
  await sessions.remove('digest')
  expect(await sessions.read('digest')).toBeUndefined()
  await charts.write('hour', 7, 'a record')
  expect((await charts.read('hour', 8)).at(-1)).toEqual({ number: 7, text: 'a record' })
}

import { expect } from 'vitest'
import type { Hub } from '../../src/index.ts'

/** All that a registry does with what it keeps in Redis: who is logged in, its charts, and named arguments. */
export const keepAsRegistry = async ({ sessions, charts, templates }: Hub): Promise<void> => {
  await sessions.write('digest', 'who', 60_000)
  expect(await sessions.read('digest')).toBe('who')
  await sessions.remove('digest')
  expect(await sessions.read('digest')).toBeUndefined()
  await charts.write('hour', 7, 'a record')
  expect((await charts.read('hour', 8)).at(-1)).toEqual({ number: 7, text: 'a record' })
  const template = { name: 'a name', args: {}, isWhole: true, by: 'somebody', atMs: 1 }
  expect(await templates.save('a:1.0', template)).toBe(true)
  expect(await templates.list('a:1.0')).toEqual([template])
  expect(await templates.remove('a:1.0', 'a name')).toBe(true)
}

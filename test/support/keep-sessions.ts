import { expect } from 'vitest'
import type { Hub } from '../../src/index.ts'

/** All that the registry does with who is logged in. */
export const keepSessions = async ({ sessions }: Hub): Promise<void> => {
  await sessions.write('digest', 'who', 60_000)
  expect(await sessions.read('digest')).toBe('who')
  await sessions.remove('digest')
  expect(await sessions.read('digest')).toBeUndefined()
}

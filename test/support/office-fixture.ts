import type { Page } from 'playwright-core'
import { defineTask, type Hub } from '../../src/index.ts'
import { eventually } from './hub-fixture.ts'
import { queueKeys } from './queue-keys.ts'
import type { RegistryFixture, TestRegistry } from './registry-fixture.ts'

const args = {
  type: 'object',
  properties: { page: { type: 'integer' } },
  additionalProperties: false,
} as const

/** Fails for pages below 0, for good. */
export const print = defineTask('print:1.0', { args, retries: 0 }, ({ page = 0 }: { page?: number }) => {
  if (page < 0) throw new Error('no such page')
  return { printed: page }
})
const mail = defineTask('mail:1.0', { retries: 3, backoff: 600_000 }, () => {
  throw new Error('the server is away')
})

/** A registry with a worker of the queue `office` that has given up so many jobs. */
export const office = async (fixture: RegistryFixture, dead: number): Promise<{ registry: TestRegistry; hub: Hub }> => {
  fixture.allowLeftovers()
  const registry = await fixture.registry()
  await fixture.worker([print, mail], { queue: 'office' })
  const hub = fixture.hub({ name: 'shop' })
  await hub.enqueueMany(Array.from({ length: dead }, (_, n) => ['print:1.0', { page: -1 - n }]))
  const { dead: key } = queueKeys(fixture, 'office')
  await eventually(async () => (await fixture.redis.zcard(key)) === dead)
  return { registry, hub }
}

export const heading = (page: Page, name: string | RegExp): Promise<void> =>
  page.getByRole('heading', { level: 1, name }).waitFor()
export const dialog = (page: Page) => page.getByRole('dialog')

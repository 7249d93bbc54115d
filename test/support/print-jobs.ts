import { defineTask } from '../../src/index.ts'
import { eventually } from './hub-fixture.ts'
import { queueKeys } from './queue-keys.ts'
import { jsonOf, type TestRegistry, type useRegistry } from './registry-fixture.ts'

const args = {
  type: 'object',
  properties: { page: { type: 'integer' } },
  additionalProperties: false,
} as const
/** Fails below page 0, and is not tried again. */
export const print = defineTask('print:1.0', { args, retries: 0 }, ({ page = 0 }: { page?: number }) => {
  if (page < 0) throw new Error('no such page')
  return { printed: page }
})

export const bodyOf = async (response: Response) => [response.status, await jsonOf(response)]
export const errorOf = async (response: Response) => {
  const { code, detail } = await jsonOf(response)
  return [response.status, code, detail]
}

/** Jobs of that task, seen through a registry. */
export const usePrintJobs = (fixture: ReturnType<typeof useRegistry>) => {
  const keys = (queue?: string) => queueKeys(fixture, queue)
  return {
    keys,
    /** A job that was given up, and its registry. */
    withDead: async (): Promise<{ registry: TestRegistry; id: string }> => {
      fixture.allowLeftovers()
      await fixture.worker([print])
      const registry = await fixture.registry()
      const { id } = await jsonOf(
        await registry.post('api/enqueue/print:1.0', { args: { page: -1 }, options: { tracked: true } }),
      )
      await eventually(async () => (await fixture.redis.zcard(keys().dead)) === 1)
      return { registry, id }
    },
  }
}

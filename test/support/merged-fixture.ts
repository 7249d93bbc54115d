import { defineTask, type Hub, type MergedHandler } from '../../src/index.ts'
import { makeKeys, type QueueKeys } from '../../src/wire/keys.ts'
import type { Fixture } from './hub-fixture.ts'

interface SeenRun {
  keys: [string, unknown[]][]
  attempt: number
  fence: number
}

type MergedTask = ReturnType<typeof noting>['task']

/** A task that notes its runs; `act` is what it does meanwhile. */
export const noting = (options: object = {}, act: MergedHandler<unknown> = () => undefined) => {
  const runs: SeenRun[] = []
  const task = defineTask('merge:1.0', { keyed: 'merged', ...options }, async (byKey: Map<string, unknown[]>, ctx) => {
    runs.push({ keys: [...byKey], attempt: ctx.attempt, fence: ctx.fence! })
    await act(byKey, ctx)
  })
  return { task, runs }
}

/** What tests of merged jobs look at. */
export const mergedFixture = (fixture: Fixture) => {
  const keysOf = (): QueueKeys => makeKeys(fixture.namespace).queue('q')
  return {
    keysOf,
    /** What waits of a key, as Redis has it. */
    async waiting(key: string): Promise<Record<string, number>> {
      const flat = await fixture.redis.zrange(keysOf().merged('merge:1.0', key), '0', '-1', 'WITHSCORES')
      return Object.fromEntries(flat.flatMap((each, at) => (at % 2 === 0 ? [[each, Number(flat[at + 1])]] : [])))
    },
    /** How often it failed since it was new, and when it is due; undefined while it is due already. */
    async stateOf(key: string): Promise<{ tries: number; dueMs: number | undefined }> {
      const tried = await fixture.redis.hget(keysOf().tried('merge:1.0'), key)
      const due = await fixture.redis.zscore(keysOf().later, `merge:1.0 ${key}`)
      const tries = tried === null ? 0 : JSON.parse(tried).tries
      return { tries, dueMs: due === null ? undefined : Number(due) }
    },
    /** A hub, once the task is declared; nobody takes anything until its worker is started. */
    async declared(task: MergedTask): Promise<Hub> {
      await (await fixture.worker([task])).stop()
      return fixture.hub()
    },
  }
}

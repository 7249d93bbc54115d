import { expect } from 'vitest'
import { defineTask, type Hub } from '../../src/index.ts'
import { eventually } from './hub-fixture.ts'

let onHeard = () => {}
/** Until the job that runs was looked at. */
let heard = Promise.resolve()

/** Yields more than a window holds, and says how far it is; as a job it runs until that was heard. */
export const tells = defineTask('tells:1.0', {}, async function* (_, ctx) {
  ctx.progress({ done: 1 })
  for (let n = 0; n < 600; n++) yield n
  if (ctx.isJob) await heard
})

/** Reads a stream that is longer than its window, and looks how far a job is. */
export const hearWhatRuns = async (hub: Hub, enqueuer: Hub, looking: Hub[]) => {
  let read = 0
  for await (const _ of hub.stream('tells:1.0')) read++
  expect(read).toBe(600)
  heard = new Promise<void>(resolve => (onHeard = resolve))
  const job = await enqueuer.enqueue('tells:1.0', {}, { tracked: true })
  await eventually(async () => (await job.status()).progress?.done === 1)
  for (const each of looking) expect(await each.jobDetails(job.id)).toMatchObject({ progress: { done: 1 } })
  onHeard()
  await job.result()
}

import { Batch } from '../jobs/batch.ts'
import type { Step } from '../jobs/chain.ts'
import { combined, type EnqueueOptions, enqueueOptionNames } from '../jobs/enqueue-options.ts'
import {
  type BatchOptions,
  batchOptionNames,
  type ChainEntry,
  type EnqueueEntry,
  stepOptionNames,
} from '../jobs/entries.ts'
import { Chain, Job, type JobHost, stepId } from '../jobs/job.ts'
import type { Redis } from '../redis/connection.ts'
import { monotonicMs, sleep } from '../wire/clock.ts'
import { HubError } from '../wire/errors.ts'
import { newId } from '../wire/ids.ts'
import { refuseHubOptions, wrongOptions } from '../wire/options.ts'
import type { Enqueuing } from './enqueuing.ts'

const mostSteps = 100

/** Each step travels in the message of the one before it. */
export const startChain = async (
  enqueuing: Enqueuing,
  host: JobHost,
  entries: readonly ChainEntry[],
  options: EnqueueOptions,
): Promise<Chain> => {
  refuseHubOptions('chain', options, enqueueOptionNames)
  if (!Array.isArray(entries) || entries.length === 0 || entries.length > mostSteps)
    throw new HubError('InvalidArgs', `A chain is a list of 1 to ${mostSteps} steps.`)
  const passed = entries.map((entry, at) => passOf(entry, at))
  const bare = entries.map(([task, args, own]): EnqueueEntry => {
    const { pass: _, ...options } = own ?? {}
    return [task, args, options]
  })
  const prepared = await enqueuing.prepare(bare, combined({ tracked: true }, options), at => passed[at] === undefined)
  if (prepared.some(({ job }) => job?.merged))
    throw new HubError('InvalidArgs', 'A merged job cannot be a step of a chain: it has no end of its own.')
  const id = newId()
  // Those that come later come to the queue's own place: who knows which shards there are then.
  if (prepared[0]) [prepared[0]] = await enqueuing.placement.spread([prepared[0]])
  const where = prepared.map(({ queue, task }): [string, string] => [queue, task])
  const steps = prepared.map((step, at): Step => {
    const job = { ...step.job, chain: id, step: at + 1, steps: where }
    return { ...step, id: stepId(id, at), job, pass: passed[at] }
  })
  const [first] = steps
  await enqueuing.traced('chain', undefined, span => {
    span?.sent(undefined, undefined, steps.length)
    const message = enqueuing.messageOf(steps as [Step, ...Step[]], span?.trace)
    return enqueuing.sendAll([first!], () => message, options)
  })
  return new Chain(host, id, where)
}

const passOf = (entry: unknown, at: number): string | undefined => {
  const wrong = (what: string) =>
    new HubError('InvalidArgs', `Entry ${at} of the chain: ${what}`, { data: { index: at } })
  if (!Array.isArray(entry)) throw wrong('it must be [task, args, options].')
  const own = (entry as unknown as ChainEntry)[2]
  if (own === undefined) return undefined
  const unfit = wrongOptions(own, stepOptionNames)
  if (unfit !== undefined) throw wrong(unfit)
  const { pass } = own
  if (pass === undefined) return undefined
  if (at === 0) throw wrong('no step comes before the first one, so it cannot have pass.')
  if (typeof pass !== 'string' || pass === '' || pass === '__proto__') throw wrong('pass must be the name of a field.')
  const [, args] = entry as unknown as ChainEntry
  if (args !== undefined && (typeof args !== 'object' || args === null || Array.isArray(args)))
    throw wrong('a result can only be passed to arguments that are an object.')
  return pass
}

/** Opening and closing a batch may be repeated; for this long it is. */
const insistMs = 30_000
const retryMs = 100

/**
 * Repeats a step of a batch until its outcome is known. `isBegun`: jobs of it run already, so that what did not reach Redis is repeated, too.
 *
 * @throws HubError OutcomeUnknown after 30 s, NotEnqueued when nothing was done, HubClosed
 */
const untilKnown = async <T>(host: JobHost, isBegun: boolean, act: (client: Redis) => Promise<T>): Promise<T> => {
  const end = monotonicMs() + insistMs
  for (let doubt = isBegun; ; ) {
    try {
      return await host.change(act)
    } catch (thrown) {
      const { code, message } = thrown as HubError
      doubt ||= code === 'OutcomeUnknown'
      if (!doubt || code === 'HubClosed') throw thrown
      if (monotonicMs() > end)
        throw new HubError('OutcomeUnknown', `The batch was enqueued only in part: ${message}`, { cause: thrown })
      await sleep(retryMs, host.closing)
    }
  }
}

/** The batch is there before its first job, and is closed behind its last one: so none of them can end unnoticed. */
export const startBatch = async (
  enqueuing: Enqueuing,
  host: JobHost,
  entries: readonly EnqueueEntry[],
  given: BatchOptions,
): Promise<Batch> => {
  refuseHubOptions('batch', given, batchOptionNames)
  const { then, failed, ...options } = given
  // Tracked, so that somebody can wait for it before it is there.
  const following = { queue: options.queue, tracked: true }
  const [after] = await enqueuing.prepare(then ? [then] : [], following)
  const [otherwise] = await enqueuing.prepare(failed ? [failed] : [], following)
  if (after && otherwise && after.queue !== otherwise.queue)
    throw new HubError('InvalidArgs', 'The jobs that follow a batch must all be in one queue.')
  const prepared = await enqueuing.prepare(entries, options)
  if (prepared.some(({ job }) => job?.merged))
    throw new HubError('InvalidArgs', 'A merged job cannot be one of a batch: it has no end of its own.')
  const home = after?.queue ?? otherwise?.queue ?? prepared[0]?.queue
  if (home === undefined) throw new HubError('InvalidArgs', 'A batch needs at least one job, in it or after it.')
  const id = newId()
  const queue = host.queueOf(home)
  // Its own place is that of a whole queue, which goes on being served whatever becomes of shards.
  const placed = await enqueuing.placement.spread(prepared)
  const steps = placed.map((step): Step => ({ ...step, job: { ...step.job, batch: `${home}/${id}` } }))
  const ids = await enqueuing.traced('batch', undefined, async span => {
    span?.sent(undefined, undefined, steps.length)
    const messageOf = (step: Step | undefined) => (step ? enqueuing.messageOf([step], span?.trace) : '')
    await untilKnown(host, false, client => queue.openBatch(client, id, messageOf(after), messageOf(otherwise)))
    const sent = await enqueuing.sendAll(steps, place => messageOf(steps[place]), options)
    await untilKnown(host, true, client => queue.closeBatch(client, id, new Set(sent.ids).size))
    return sent.ids
  })
  const jobOf = (step: Step | undefined) => step && new Job(host, queue, step.id, step.task, { isToCome: true })
  return new Batch(host, { id, queue: home, ids, after: jobOf(after), failed: jobOf(otherwise) })
}

import { furtherField } from '../catalogue/cards.ts'
import { Catalogue } from '../catalogue/catalogue.ts'
import { checkKeyText, defaultEnqueueMs } from '../jobs/enqueue-options.ts'
import type { JobHost } from '../jobs/job.ts'
import { JobKey, readKey } from '../jobs/job-key.ts'
import { monotonicMs } from '../wire/clock.ts'
import { forwarderOf, type Keys, wholeQueue } from '../wire/keys.ts'
import { tryParseTaskName } from '../wire/names.ts'
import { namesOf, refuseHubOptions } from '../wire/options.ts'
import { checkQueue, type Enqueuing } from './enqueuing.ts'
import type { Route } from './resolver.ts'

const keyOptionNames = namesOf<{ queue?: string }>({ queue: true })

interface Keyed extends Pick<Route, 'task' | 'queue' | 'keyed'> {
  /** Its card says that its jobs have no keys. */
  isKeyless: boolean
}

/** Of a task that has workers, or had some: only with a card a name that is not whole leads anywhere. */
const keyedOf = ({ task, queue, keyed }: Route): Keyed => ({ task, queue, keyed, isKeyless: keyed === undefined })

/** A key of the jobs of a task, where that is known. */
export const keyOf = async (
  enqueuing: Enqueuing,
  host: JobHost,
  keys: Keys,
  called: string,
  key: string,
  options: { queue?: string | undefined },
): Promise<JobKey> => {
  refuseHubOptions(`key of ${called}`, options, keyOptionNames)
  checkKeyText(called, key)
  const catalogue = new Catalogue(keys)
  const { task, queue, keyed, isKeyless } =
    (await placeOf(host, catalogue, called, options.queue)) ??
    keyedOf(await enqueuing.routeOf(called, options, monotonicMs() + defaultEnqueueMs))
  // Those of merged jobs are in the queue's own place, whatever their text.
  const home = keyed === 'merged' ? queue : await host.ask(() => enqueuing.placement.homeOf(queue, task, key))
  return new JobKey(host, host.queueOf(home), { task, key, isKeyless }, keys.namespace, (client, place) =>
    readKey(client, catalogue, keys.queue(home), keys.namespace, place),
  )
}

/**
 * By its full name, which needs no right but that to look; undefined for another name, or one that no queue is known of. Without a card
 * nothing says how its jobs are keyed.
 */
const placeOf = async (
  host: JobHost,
  catalogue: Catalogue,
  task: string,
  queue: string | undefined,
): Promise<Keyed | undefined> => {
  const isForwarded = queue !== undefined && forwarderOf(queue) !== undefined
  if (!isForwarded && !tryParseTaskName(task)) return undefined
  if (queue !== undefined) checkQueue(queue)
  const fields = queue === undefined ? [task] : [furtherField(task, queue), task]
  const [card] = await host.ask(client => catalogue.taskCards(client, fields))
  const place = queue ?? (card && wholeQueue(card.queue))
  return place === undefined
    ? undefined
    : { task, queue: place, keyed: card?.keyed, isKeyless: card?.keyed === undefined && card !== undefined }
}

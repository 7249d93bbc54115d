import { type HubUnanswered, readHubUnanswered, type UnansweredCalls } from '../figures/unanswered.ts'
import type { Redis } from '../redis/connection.ts'
import type { TaskCard } from '../task/card.ts'
import { maxUnansweredLength, Unreadable } from '../wire/foreign.ts'
import { isId, type Keys, wholeQueue } from '../wire/keys.ts'
import { newestFirst, tryParseTaskName } from '../wire/names.ts'
import type { Catalogue } from './catalogue.ts'

/** Calls of one task that ended with one code in one hub, without a reply from a worker. */
export interface UnansweredOverview extends UnansweredCalls {
  /** Its name in the registry, or as called if the registry does not know it. */
  task: string
  queue: string | undefined
  /** The calling service; '' without a name. */
  from: string
  hub: string
  host: string
  pid: number
}

const mostHubs = 1000
const windowMs = 60_000

/** What hubs tell of the last hour; the latest first. A Redis user of earlier rights sees none. */
export const readUnanswered = async (
  client: Redis,
  catalogue: Catalogue,
  keys: Keys,
  cards: readonly Pick<TaskCard, 'task' | 'queue'>[],
  nowMs: number,
): Promise<UnansweredOverview[]> => {
  const ids = (await catalogue.askIfAllowed<unknown[]>(client, [], 'zrange', keys.refusing, -mostHubs, -1)) ?? []
  const records = await Promise.all(
    ids.filter(isId).map(async hub => ({ hub, record: await readOne(client, catalogue, keys.refused(hub)) })),
  )
  const nameOf = knownNames(cards)
  return records
    .flatMap(({ hub, record }) =>
      (record?.tasks ?? []).flatMap(({ task, queue, codes }) =>
        codes.map(calls => ({
          ...calls,
          // It stays as it was written when there is nothing new.
          lastMinute: nowMs - record!.seen < windowMs ? calls.lastMinute : 0,
          ...nameOf(task, queue),
          from: record!.name,
          hub,
          host: record!.host,
          pid: record!.pid,
        })),
      ),
    )
    .sort((a, b) => b.atMs - a.atMs)
}

const readOne = async (client: Redis, catalogue: Catalogue, key: string): Promise<HubUnanswered | undefined> => {
  // So much and no more: it may be anything.
  const text = await catalogue.askIfAllowed(client, '', 'getrange', key, 0, 4 * maxUnansweredLength)
  if (!text) return undefined
  try {
    return readHubUnanswered(text)
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error
    catalogue.noteUnreadable(key, error.message)
    return undefined
  }
}

/** Hubs tell of a task as it was called, where they found none: `add` is the newest version of it. */
const knownNames = (cards: readonly Pick<TaskCard, 'task' | 'queue'>[]) => {
  const queues = new Map(cards.map(({ task, queue }) => [task, queue]))
  const newest = new Map<string, string>()
  const sorted = [...queues.keys()].flatMap(task => tryParseTaskName(task) ?? []).sort(newestFirst)
  for (const { name, major, full } of sorted)
    for (const called of [name, `${name}:${major}`]) if (!newest.has(called)) newest.set(called, full)
  return (called: string, queue: string | undefined): { task: string; queue: string | undefined } => {
    const task = queues.has(called) ? called : (newest.get(called) ?? called)
    const own = queue ?? queues.get(task)
    return { task, queue: own === undefined ? undefined : wholeQueue(own) }
  }
}

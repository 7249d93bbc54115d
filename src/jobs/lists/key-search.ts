import type { Catalogue } from '../../catalogue/catalogue.ts'
import type { Redis } from '../../redis/connection.ts'
import { type Keys, wholeQueue } from '../../wire/keys.ts'

/** A key with a waiting or running job. */
export interface FoundKey {
  queue: string
  task: string
  key: string
}

/** The result of a search for keys. */
export interface FoundKeys {
  /** An exact match comes first. */
  keys: FoundKey[]
  /** There may be more: the limit was reached, or not all keys were searched. */
  isCut: boolean
}

/** Sets of the keys of one task, looked into at a time. */
const setsAtOnce = 50
const mostTasks = 200
const mostSets = 2000
/** Keys read at a time, and looked at altogether. */
const page = 200
const mostSearched = 10_000

interface KeySet {
  queue: string
  task: string
}

/**
 * Keys whose text is this one, in any queue, then those that begin with it, in whatever case: nothing indexes them by their beginning.
 *
 * @param sees keys of any other task are not there: they take no place among those that are found
 */
export const findKeys = async (
  client: Redis,
  catalogue: Catalogue,
  keys: Keys,
  text: string,
  limit: number,
  sees: (task: string) => boolean,
): Promise<FoundKeys> => {
  const sets = await keySets(client, catalogue, keys, sees)
  const found = new Map<string, FoundKey>()
  const add = ({ queue, task }: KeySet, key: string) => {
    const one = { queue: wholeQueue(queue), task, key }
    found.set(JSON.stringify(one), one)
  }
  await exactly(client, catalogue, keys, sets, text, add)
  const small = text.toLowerCase()
  let searched = 0
  for await (const { set, members } of pagesOf(client, catalogue, keys, sets)) {
    if (sees(set.task)) for (const key of members) if (key.toLowerCase().startsWith(small)) add(set, key)
    searched += members.length
    if (found.size >= limit || searched >= mostSearched)
      return { keys: [...found.values()].slice(0, limit), isCut: true }
  }
  return { keys: [...found.values()].slice(0, limit), isCut: sets.length >= mostSets }
}

const keySets = async (
  client: Redis,
  catalogue: Catalogue,
  keys: Keys,
  sees: (task: string) => boolean,
): Promise<KeySet[]> => {
  const sets: KeySet[] = []
  const whole = await catalogue.queues(client)
  for (const some of chunks(whole, setsAtOnce)) {
    const places = new Set((await Promise.all(some.map(queue => catalogue.places(client, queue)))).flat())
    // A shard may have a card of its own, and what a queue had before it was spread may still be there.
    for (const queue of some) places.add(queue)
    const tasksOf = await Promise.all(
      [...places].map(async queue => {
        const range = [0, mostTasks - 1]
        const tasks = await catalogue.askIfAllowed<string[]>(client, [], 'zrange', keys.queue(queue).keyed, ...range)
        return (tasks ?? []).filter(sees).map(task => ({ queue, task }))
      }),
    )
    sets.push(...tasksOf.flat())
    if (sets.length >= mostSets) break
  }
  return sets.slice(0, mostSets)
}

const exactly = async (
  client: Redis,
  catalogue: Catalogue,
  keys: Keys,
  sets: readonly KeySet[],
  text: string,
  add: (set: KeySet, key: string) => void,
): Promise<void> => {
  const has = async (set: KeySet): Promise<boolean> => {
    const { keysOf, running, later } = keys.queue(set.queue)
    const answers = await Promise.all([
      catalogue.askIfAllowed<unknown>(client, null, 'zscore', keysOf(set.task), text),
      catalogue.askIfAllowed<unknown>(client, null, 'zscore', later, `${set.task} ${text}`),
      catalogue.askIfAllowed<unknown>(client, null, 'hget', running(set.task), text),
    ])
    return answers.some(answer => answer !== null && answer !== undefined)
  }
  for (const some of chunks(sets, setsAtOnce)) {
    const there = await Promise.all(some.map(has))
    for (const [at, set] of some.entries()) if (there[at]) add(set, text)
  }
}

/** What runs, is due and waits for its time, page by page. */
async function* pagesOf(
  client: Redis,
  catalogue: Catalogue,
  keys: Keys,
  sets: readonly KeySet[],
): AsyncGenerator<{ set: KeySet; members: string[] }> {
  for (const set of sets) {
    // No more keys run than there are slots.
    const running = await catalogue.askIfAllowed<string[]>(client, [], 'hkeys', keys.queue(set.queue).running(set.task))
    yield { set, members: running ?? [] }
    for await (const members of pagesOfSet(client, catalogue, keys.queue(set.queue).keysOf(set.task)))
      yield { set, members }
  }
  for (const queue of new Set(sets.map(set => set.queue)))
    for await (const members of pagesOfSet(client, catalogue, keys.queue(queue).later)) {
      for (const member of members) {
        const at = member.indexOf(' ')
        yield { set: { queue, task: member.slice(0, at) }, members: [member.slice(at + 1)] }
      }
    }
}

async function* pagesOfSet(client: Redis, catalogue: Catalogue, set: string): AsyncGenerator<string[]> {
  for (let from = 0; ; from += page) {
    const members = await catalogue.askIfAllowed<string[]>(client, [], 'zrange', set, from, from + page - 1)
    yield members ?? []
    if ((members ?? []).length < page) return
  }
}

const chunks = <T>(all: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, at) => all.slice(at * size, (at + 1) * size))

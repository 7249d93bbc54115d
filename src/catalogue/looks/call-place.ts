import type { Redis } from '../../redis/connection.ts'
import type { Keys } from '../../wire/keys.ts'
import { Catalogue } from '../catalogue.ts'
import { readOverview } from '../overview.ts'

/** Where the request of a call is. */
export interface CallPlace {
  state: 'waiting' | 'held'
  queue: string
  /** How many requests are before it, if it waits. */
  ahead: number | undefined
  /** The worker that holds it, and whether that worker is live. */
  worker: { id: string; host: string; pid: number; live: boolean } | undefined
  task: string | undefined
  from: string | undefined
  /** When it was pushed, Redis microseconds. */
  atUs: number | undefined
}

/** So many that wait are looked at in each queue. */
const mostLooked = 10_000
const page = 500

/** Finds a request that waits, or that a worker holds, by its id; undefined where it is neither: it has ended, or is no call. */
export const readCallPlace = async (client: Redis, keys: Keys, id: string): Promise<CallPlace | undefined> => {
  const overview = await readOverview(client, keys)
  const catalogue = new Catalogue(keys)
  for (const { id: worker, host, pid, live, queue } of overview.workers) {
    const fields = [id, `lost:${id}`]
    const found = await catalogue.ask<(string | null)[]>(client, [], 'hmget', keys.queue(queue).held(worker), ...fields)
    const text = found.find(each => typeof each === 'string')
    if (text)
      return { state: 'held', queue, ahead: undefined, worker: { id: worker, host, pid, live }, ...toldBy(text) }
  }
  const queues = new Set([...overview.queues, ...overview.workers].map(({ queue }) => queue))
  for (const queue of queues) {
    for (let at = 0; at < mostLooked; at += page) {
      const texts = await catalogue.ask<string[]>(client, [], 'lrange', keys.queue(queue).calls, at, at + page - 1)
      const place = texts.findIndex(text => typeof text === 'string' && text.includes(`"id":"${id}"`))
      if (place >= 0) return { state: 'waiting', queue, ahead: at + place, worker: undefined, ...toldBy(texts[place]!) }
      if (texts.length < page) break
    }
  }
  return undefined
}

const toldBy = (text: string): Pick<CallPlace, 'task' | 'from' | 'atUs'> => {
  // The few fields that are shown; its arguments, which may be long, are not read.
  const member = (name: string) => new RegExp(`"${name}":"([^"\\\\]{1,200})"`).exec(text)?.[1]
  const at = Number(/^\{"at":(\d{1,17}),/.exec(text)?.[1])
  return { task: member('task'), from: member('from'), atUs: Number.isFinite(at) ? at : undefined }
}

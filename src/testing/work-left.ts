import { makeKeys, type QueueKeys } from '../wire/keys.ts'
import type { Keyspace } from './redis/keyspace.ts'

/** The queues that have any key. */
export const queuesIn = (keys: Keyspace): QueueKeys[] => {
  const found = new Map<string, QueueKeys>()
  for (const name of keys.names()) {
    const [queue, namespace, tag] = /^([^:]+):\{([^}]+)\}:/.exec(name) ?? []
    if (queue !== undefined && !found.has(queue)) found.set(queue, makeKeys(namespace!).queue(tag!))
  }
  return [...found.values()]
}

/** Sets of what is to be done at a time, Redis milliseconds. */
const dueSetsOf = ({ scheduled, retries, later, ticks }: QueueKeys): string[] => [scheduled, retries, later, ticks]

/** How much of what is to be done has its time between two, as Redis writes ends: `(5`, `+inf`; and when the first of it is due. */
const dueBetween = (keys: Keyspace, queue: QueueKeys, from: string, to: string) =>
  dueSetsOf(queue).flatMap(name =>
    keys.kindOf(name) === 'zset'
      ? keys
          .get(name, 'zset')!
          .between(from, to)
          .map(({ score }) => score)
      : [],
  )

/** When the next job or schedule is due behind a time, Redis milliseconds. */
export const nextDueMs = (keys: Keyspace, afterMs: number): number =>
  Math.min(
    Number.POSITIVE_INFINITY,
    ...queuesIn(keys).map(queue =>
      dueBetween(keys, queue, `(${afterMs}`, '+inf').reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY),
    ),
  )

/** What is to be run now and has not ended: how much, by the key that it lies in. */
export const workLeft = (keys: Keyspace, nowMs: number): Map<string, number> => {
  const left = new Map<string, number>()
  const note = (name: string, count: number) => count > 0 && left.set(name, count)
  for (const queue of queuesIn(keys)) {
    for (const list of [queue.calls, queue.jobs, queue.jobsHigh, queue.jobsLow])
      if (keys.kindOf(list) === 'list') note(list, keys.get(list, 'list')!.length)
    if (keys.kindOf(queue.keyed) === 'zset')
      note(queue.keyed, keys.get(queue.keyed, 'zset')!.between('-inf', '(+inf').length)
    note(queue.scheduled, dueBetween(keys, queue, '-inf', String(nowMs)).length)
    for (const name of keys.names())
      if (name.startsWith(queue.held('')) && keys.kindOf(name) === 'hash') note(name, keys.get(name, 'hash')!.size)
  }
  return left
}

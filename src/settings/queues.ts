import { isDeclared } from '../task/any-task.ts'
import type { Task } from '../task/task.ts'
import { ConfigError } from '../wire/errors.ts'
import { forwarderOf, isQueueName, wholeQueue } from '../wire/keys.ts'

/** One of the queues that a worker is to serve. */
export interface QueueEntry {
  /** `*` stands for all there are besides those that are named. */
  name: string
  weight: number | undefined
}

export const everyQueue = '*'
/** What a worker serves that names no queue. */
export const defaultQueue = 'default'
const mostQueues = 256

/** Entries `name` or `name:weight`, 1 to 1000, in a list or in a text with commas in between; undefined when it is none. */
export const readQueues = (value: unknown): QueueEntry[] | undefined => {
  const texts = typeof value === 'string' ? value.split(',').map(text => text.trim()) : value
  if (!Array.isArray(texts) || texts.length === 0 || texts.length > mostQueues) return undefined
  const entries: QueueEntry[] = []
  for (const text of texts) {
    const [, name, weight] = typeof text === 'string' ? (/^([^:]*)(?::([1-9]\d{0,3}))?$/s.exec(text) ?? []) : []
    if (name === undefined || (name !== everyQueue && !isQueueName(name)) || Number(weight ?? 1) > 1000)
      return undefined
    // Whoever names a shard serves all of its queue: what it holds may move to any of them.
    const whole = wholeQueue(name)
    if (entries.some(entry => entry.name === whole)) return undefined
    entries.push({ name: whole, weight: weight === undefined ? undefined : Number(weight) })
  }
  return entries
}

/** Those of the entries that are named; the default one where there is none beside `*`. */
export const namedQueues = (entries: readonly QueueEntry[]): [string, ...string[]] => {
  const [first = defaultQueue, ...others] = entries.map(({ name }) => name).filter(name => name !== everyQueue)
  return [first, ...others]
}

/**
 * A worker of tasks would end what a forwarder is to take out of the hub: none of it is of its tasks.
 * @throws ConfigError
 */
export const refuseForwarders = (entries: readonly QueueEntry[], tasks: Iterable<Task>): void => {
  const taken = entries.find(({ name }) => forwarderOf(name) !== undefined)
  if (taken && [...tasks].some(isDeclared))
    throw new ConfigError(`Queue ${taken.name} belongs to a forwarder: pshub forward ${forwarderOf(taken.name)}.`)
}

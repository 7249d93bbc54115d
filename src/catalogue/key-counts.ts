import type { Redis } from '../redis/connection.ts'
import type { KeyFigures } from '../wire/answers.ts'
import { numberIn } from '../wire/foreign.ts'
import type { QueueKeys } from '../wire/keys.ts'
import type { Catalogue } from './catalogue.ts'

/** So many tasks are looked at. */
const mostTasks = 100

/** How the keys of a queue's jobs fare; undefined for whom may not see that. */
export const readKeyFigures = async (
  client: Redis,
  catalogue: Catalogue,
  { keyed, keysOf, later, running }: QueueKeys,
  nowMs: number,
): Promise<KeyFigures | undefined> => {
  const ask = <T>(name: string, key: string, ...range: number[]) =>
    catalogue.askIfAllowed<T>(client, undefined as T, name, key, ...range)
  const [waitingLater, tasks] = await Promise.all([
    ask<number>('zcard', later),
    catalogue.askIfAllowed<string[]>(client, [], 'zrange', keyed, 0, mostTasks - 1, 'WITHSCORES'),
  ])
  if (!tasks) return undefined
  const names = tasks.filter((_, at) => at % 2 === 0)
  const [due, runs] = await Promise.all([
    Promise.all(names.map(task => ask<number>('zcard', keysOf(task)))),
    Promise.all(names.map(task => catalogue.askIfAllowed<string[]>(client, [], 'hvals', running(task)))),
  ])
  const texts = runs.flatMap(each => each ?? [])
  const fences = texts.map(text => Number(/^\d{1,16}/.exec(text)?.[0])).filter(Number.isFinite)
  const firstDueUs = numberIn(tasks[1])
  return {
    waiting: due.reduce((sum: number, count) => sum + (count ?? 0), waitingLater ?? 0),
    running: texts.length,
    lagMs: firstDueUs === undefined ? 0 : Math.max(0, nowMs - firstDueUs / 1000),
    longestMs: fences.length === 0 ? 0 : Math.max(0, nowMs - Math.min(...fences) / 1000),
  }
}

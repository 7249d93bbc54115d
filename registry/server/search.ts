import { type Hub, HubError, type Overview } from 'pshub'
import type { SearchAnswer } from '../search-contract.ts'

/** Of each kind. */
const most = 6
/** So much of an id says which one is meant. */
const shortestStart = 6
const id = /^[A-Za-z0-9_-]{8,64}$/
/** A job that is not tracked is looked for where it may lie, state by state, for so long. */
const longestMs = 1500
const lyingStates = ['running', 'retrying', 'dead', 'waiting', 'scheduled'] as const

/** The best of those that have all words in their text: the same, then those that begin so, then the rest, each in its order. */
const bestOf = <T>(all: readonly T[], words: readonly string[], textOf: (one: T) => string): T[] => {
  const wanted = words.join(' ')
  const ranks: T[][] = [[], [], []]
  for (const one of all) {
    const text = textOf(one).toLowerCase()
    if (!words.every(word => text.includes(word))) continue
    const rank = text === wanted || text.startsWith(`${wanted}:`) ? 0 : text.startsWith(wanted) ? 1 : 2
    if (ranks[rank]!.length < most) ranks[rank]!.push(one)
  }
  return ranks.flat().slice(0, most)
}

/** What the reading of the registry knows. */
export const searchNames = (
  { tasks, queues, workers }: Overview,
  words: readonly string[],
): Pick<SearchAnswer, 'tasks' | 'queues' | 'workers'> => ({
  tasks: bestOf(tasks, words, ({ task }) => task).map(({ task, queue }) => ({ task, queue })),
  queues: bestOf(queues, words, ({ queue }) => queue).map(({ queue }) => queue),
  workers: bestOf(workers, words, ({ id, host, pid, build }) => `${id} ${host} pid ${pid} ${build ?? ''}`).map(
    ({ id, queue, host, pid, live }) => ({ id, queue, host, pid, live }),
  ),
})

interface Told {
  id?: string | undefined
  task: string
  code?: string | undefined
}

type FoundCall = SearchAnswer['calls'][number]

/** One of each id: of a call that failed, that it took long as well says nothing more. */
export const searchCalls = (lists: readonly [FoundCall['kind'], readonly Told[]][], text: string): FoundCall[] => {
  const found = new Map<string, FoundCall>()
  if (text.length < shortestStart) return []
  for (const [kind, told] of lists)
    for (const { id, task, code } of told) {
      if (found.size >= most) return [...found.values()]
      if (id?.startsWith(text) && !found.has(id)) found.set(id, { id, task, kind, code })
    }
  return [...found.values()]
}

/** A job of this id: by its record where it is tracked, else wherever it lies. */
export const searchJob = async (
  hub: Hub,
  text: string,
  sees: (task: string) => boolean,
): Promise<Pick<SearchAnswer, 'jobs' | 'isCut'>> => {
  if (!id.test(text)) return { jobs: [], isCut: false }
  const tracked = await hub.jobDetails(text).catch((error: unknown) => {
    if (error instanceof HubError && error.code === 'NoSuchJob') return undefined
    throw error
  })
  if (tracked) return { jobs: [jobOf(tracked)], isCut: false }
  const since = performance.now()
  let isCut = false
  for (const state of lyingStates) {
    if (performance.now() - since > longestMs) return { jobs: [], isCut: true }
    const { jobs, more } = await hub.jobs({ state, text, limit: most, look: { sees, args: () => null } })
    const found = jobs.flatMap(job => (job.id === text ? jobOf({ ...job, id: text }) : []))
    if (found.length > 0) return { jobs: found, isCut: false }
    isCut ||= more
  }
  return { jobs: [], isCut }
}

const jobOf = ({ id, queue, task, state }: SearchAnswer['jobs'][number]): SearchAnswer['jobs'][number] => ({
  ...{ id, queue, task, state },
})

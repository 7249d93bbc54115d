import type { SearchAnswer } from '../../search-contract.ts'
import {
  at,
  failuresPath,
  jobPath,
  jobsPath,
  keyPath,
  queuePath,
  slowPath,
  taskPath,
  workerPath,
} from '../address/paths.ts'
import { printable } from '../text/printable.ts'
import { filteredPages, type SavedFilter } from './saved-filters.ts'

/** One that can be chosen: it leads somewhere, or does something. */
export interface Entry {
  /** Unique among all that are shown. */
  key: string
  text: string
  /** Said beside it. */
  note?: string | undefined
  href?: string
  act?(): void
}

export interface Group {
  name: string
  entries: Entry[]
  /** It is of what the page knows: nobody is asked. */
  isKnown?: true
}

/** Something that the frame can do, in words. */
export interface Action {
  text: string
  act(): void
}

const pages: readonly [place: string, name: string][] = [
  ['', 'Overview'],
  ...Object.entries(filteredPages),
  ['api-reference', 'API reference'],
]
/** Of saved filters; the rest is to be found by typing. */
const mostFilters = 12

/** Whether each word begins a word of the text, or is somewhere in it when it has three letters or more. */
const fits = (text: string, words: readonly string[]): boolean => {
  const small = text.toLowerCase()
  const starts = small.split(/[^\p{L}\p{N}]+/u)
  return words.every(word => starts.some(start => start.startsWith(word)) || (word.length > 2 && small.includes(word)))
}

/** What is known here: pages, saved filters and actions. All of them where nothing is typed yet. */
export const knownGroups = (
  words: readonly string[],
  filters: readonly SavedFilter[],
  actions: readonly Action[],
): Group[] => [
  {
    name: 'Pages',
    isKnown: true,
    entries: pages
      .filter(([, name]) => fits(name, words))
      .map(([place, name]) => ({ key: `page ${place}`, text: name, href: at(place) })),
  },
  {
    name: 'Saved filters',
    isKnown: true,
    entries: filters
      .filter(({ name, place }) => fits(`${name} ${filteredPages[place]}`, words))
      .slice(0, mostFilters)
      .map(({ name, place, query }) => ({
        key: `filter ${place} ${name}`,
        text: printable(name),
        note: filteredPages[place],
        href: at(place) + query,
      })),
  },
  {
    name: 'Actions',
    isKnown: true,
    entries: actions
      .filter(({ text }) => fits(text, words))
      .map(({ text, act }) => ({ key: `action ${text}`, text, act })),
  },
]

/** What the service found. */
export const foundGroups = ({ tasks, queues, workers, jobs, keys, calls }: SearchAnswer): Group[] => [
  {
    name: 'Tasks',
    entries: tasks.map(({ task, queue }) => ({
      key: `task ${task}`,
      text: printable(task),
      note: `queue ${printable(queue)}`,
      href: taskPath(task),
    })),
  },
  {
    name: 'Queues',
    entries: queues.map(queue => ({ key: `queue ${queue}`, text: printable(queue), href: queuePath(queue) })),
  },
  {
    name: 'Workers',
    entries: workers.map(({ id, host, pid, live }) => ({
      key: `worker ${id}`,
      text: `${printable(host)} pid ${pid}`,
      note: `${printable(id)}${live ? '' : ', its lease expired'}`,
      href: workerPath(id),
    })),
  },
  {
    name: 'Jobs',
    entries: jobs.map(({ id, queue, task, state }) => ({
      key: `job ${queue} ${id}`,
      text: id,
      note: `${state}, ${printable(task)}`,
      href: jobPath(id, { queue, state }),
    })),
  },
  {
    name: 'Keys of jobs',
    entries: keys.map(({ queue, task, key }) => ({
      key: `key ${JSON.stringify([queue, task, key])}`,
      text: printable(key),
      note: `${printable(task)}, queue ${printable(queue)}`,
      href: keyPath({ task, key, queue }),
    })),
  },
  {
    name: 'Requests',
    entries: calls.map(({ id, task, kind, code }) => ({
      key: `call ${id}`,
      text: printable(id),
      note: `${printable(code ?? 'slow')}, ${printable(task)}`,
      href: kind === 'slow' ? slowPath({ q: id }) : failuresPath({ q: id }),
    })),
  },
]

const lookedIn = ['waiting', 'running', 'scheduled', 'retrying', 'dead', 'done'] as const

/** Lists that look further: into arguments of jobs, and into messages. */
export const furtherGroup = (text: string): Group => ({
  name: 'Search further',
  entries: [
    ...lookedIn.map(state => ({
      key: `jobs ${state}`,
      text: `Jobs that are ${state}: “${printable(text)}”`,
      note: state === 'done' ? 'ids, tasks, failures' : 'ids, callers, failures, arguments',
      href: jobsPath({ q: text, ...(state === 'waiting' ? {} : { state }) }),
    })),
    {
      key: 'failures',
      text: `Failures: “${printable(text)}”`,
      note: 'messages, callers, ids',
      href: failuresPath({ q: text }),
    },
  ],
})

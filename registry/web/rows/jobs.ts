import type { QueuedJob } from 'pshub'
import { type JobDetail, type JobPage, type JobState, jobStates, type MatchingAction } from '../../job-contract.ts'
import { choiceOf } from '../address/query.ts'
import { jsonText } from '../json/exact.ts'

export type ListedState = (typeof jobStates)[number]

/** Which jobs a page lists, as its address says. */
export interface JobsView {
  state: ListedState
  queue: string
  task: string
  key: string
  text: string
  /** Where this page of the list begins; empty: at the beginning. */
  from: string
}

/** Longer ones the service refuses. */
const longestText = 200

export const jobsView = (query: Readonly<Record<string, string>>): JobsView => ({
  state: choiceOf(jobStates, query.state),
  queue: query.queue ?? '',
  task: query.task ?? '',
  key: (query.key ?? '').slice(0, longestText),
  text: (query.q ?? '').trim().slice(0, longestText),
  from: query.from ?? '',
})

/** The same for the service. */
export const jobsQuery = ({ state, queue, task, key, text, from }: JobsView): string => {
  const named = { state, queue, task, key, text, from }
  return new URLSearchParams(Object.entries(named).filter(([, value]) => value !== '')).toString()
}

export const hasFilter = ({ queue, task, key, text }: JobsView): boolean =>
  queue !== '' || task !== '' || key !== '' || text !== ''

/** How many there are in a state, in the queues that are listed; undefined where nobody counts them, or may. */
export const countIn = ({ counts }: JobPage, state: ListedState): number | undefined => {
  if (state === 'running' || state === 'done') return undefined
  const known = counts.map(each => each[state]).filter(count => count !== undefined)
  return known.length === 0 && counts.length > 0 ? undefined : known.reduce((sum, count) => sum + count, 0)
}

/** Where the page of a job finds it: by its place too, because only a tracked one has a record. */
export const jobPlace = ({ queue, state, dueMs, deadMs }: QueuedJob): Record<string, string> => {
  const at = dueMs ?? deadMs
  return { queue, state, ...(at === undefined || !Number.isFinite(at) || at < 0 ? {} : { at: String(at) }) }
}

/** What can be done with all jobs of a state. */
export const actionsOf = (state: ListedState): readonly MatchingAction[] => {
  if (state === 'done') return []
  if (state === 'dead') return ['retry', 'delete']
  return state === 'scheduled' || state === 'retrying' ? ['run', 'cancel'] : ['cancel']
}

export const stateNames: Record<ListedState, string> = {
  waiting: 'Waiting',
  running: 'Running',
  scheduled: 'Scheduled',
  retrying: 'Retrying',
  dead: 'Dead',
  done: 'Done',
}

/** A state in which the page of a job says that it was seen. */
export const seenState = (text: string | undefined): JobState | undefined =>
  jobStates.find((state): state is JobState => state === text && state !== 'done')

/** The arguments of a job as JSON, each number as it was written. */
export const argsTextOf = ({ args, argsText }: Pick<JobDetail, 'args' | 'argsText'>): string =>
  argsText ?? jsonText(args) ?? 'null'

/** The key of a job, where it has a page: what runs of several merged keys says the first one and how many more. */
export const keyOfJob = ({ id, state, task, queue, key }: QueuedJob) => {
  const isSeveral = state === 'running' && id?.startsWith('m-') && / and \d+ more$/.test(key ?? '')
  return key === undefined || isSeveral ? undefined : { task, key, queue }
}

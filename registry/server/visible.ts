import type { Overview } from 'pshub'
import type { Reading } from './readings.ts'
import type { Rights } from './rules.ts'

/** Made once for all whose rights are the same. */
const made = new WeakMap<Reading, Map<Rights, Reading>>()

/** A reading without the tasks that are hidden from somebody: all that is told of tasks is made of it. */
export const visible = (reading: Reading, rights: Rights): Reading => {
  if (rights.seesAll) return reading
  const known = made.get(reading) ?? new Map<Rights, Reading>()
  made.set(reading, known)
  const found = known.get(rights) ?? { ...reading, overview: without(reading.overview, rights) }
  known.set(rights, found)
  return found
}

const without = (overview: Overview, { sees }: Rights): Overview => {
  const seen = <T>(byTask: Record<string, T>): Record<string, T> =>
    Object.fromEntries(Object.entries(byTask).filter(([task]) => sees(task)))
  return {
    ...overview,
    tasks: overview.tasks.filter(({ task }) => sees(task)),
    workers: overview.workers.map(({ tasks, totals, jobs, ...worker }) => ({
      ...worker,
      tasks: seen(tasks),
      totals: seen(totals),
      jobs: seen(jobs),
    })),
    unanswered: overview.unanswered.filter(({ task }) => sees(task)),
    // Names of keys have names of tasks in them.
    unreadable: [],
  }
}

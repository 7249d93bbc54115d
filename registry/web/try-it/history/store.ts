/** One run that was made in this browser. Its result is not kept, because nobody said how secret that is. */
export interface PastRun {
  atMs: number
  /** Arguments as JSON; undefined when they were too large to keep. */
  args: string | undefined
  /** Fields that are not to be kept were left out of them. */
  isWhole: boolean
  /** `ok` or the code of the error. */
  outcome: string
  tookMs: number
}

/** What is used of a browser's storage. */
export interface Store {
  getItem(key: string): string | null
  setItem(key: string, value: string): void
  removeItem(key: string): void
}

export const maxRuns = 20
const maxArgsLength = 20_000
const maxLength = 100_000

const keyOf = (namespace: string, task: string): string => `pshub-runs ${namespace} ${task}`

/** Newest first; empty when nothing is kept, or what is there was not written by this page. */
export const readRuns = (store: Store | undefined, namespace: string, task: string): PastRun[] => {
  try {
    const runs: unknown = JSON.parse(store?.getItem(keyOf(namespace, task)) ?? '[]')
    return Array.isArray(runs) ? runs.filter(isRun).slice(0, maxRuns) : []
  } catch {
    return []
  }
}

/** Adds a run, lets the oldest go, and returns what is kept now. A storage that is full keeps what it has. */
export const addRun = (store: Store | undefined, namespace: string, task: string, run: PastRun): PastRun[] => {
  const kept = (run.args?.length ?? 0) > maxArgsLength ? { ...run, args: undefined } : run
  const runs = [kept, ...readRuns(store, namespace, task)].slice(0, maxRuns)
  while (runs.length > 1 && JSON.stringify(runs).length > maxLength) runs.pop()
  try {
    store?.setItem(keyOf(namespace, task), JSON.stringify(runs))
  } catch {
    return readRuns(store, namespace, task)
  }
  return runs
}

export const clearRuns = (store: Store | undefined, namespace: string, task: string): void => {
  try {
    store?.removeItem(keyOf(namespace, task))
  } catch {
    // Nothing could be kept there either.
  }
}

const isRun = (run: Partial<PastRun> | null): run is PastRun =>
  typeof run === 'object' &&
  run !== null &&
  (run.args === undefined || typeof run.args === 'string') &&
  typeof run.isWhole === 'boolean' &&
  typeof run.outcome === 'string' &&
  Number.isFinite(run.atMs) &&
  Number.isFinite(run.tookMs)

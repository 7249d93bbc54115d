import type { TaskOverview } from 'pshub'

const namePattern = /^[A-Za-z][A-Za-z0-9_./-]{0,99}:\d{1,6}\.\d{1,6}$/

/** A live worker provides it, and it takes calls: a keyed one takes jobs alone. */
export const isCallable = ({ task, workers, keyed }: TaskOverview): boolean =>
  workers.length > 0 && keyed === undefined && namePattern.test(task)

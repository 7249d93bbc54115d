import { isFull, isTransient } from '../../redis/failures.ts'
import { backoffMs, sleep } from '../../wire/clock.ts'
import type { WorkerContext } from '../context.ts'

/**
 * Tries until Redis has done it, or refuses it in a way that is not worth another try, or it is others' now, or `stopping` fires. Resolves
 * with whether it was done.
 */
export const untilDone = async (
  { commands, workerId: current, problem }: WorkerContext,
  where: string,
  stopping: AbortSignal,
  act: () => Promise<unknown>,
  workerId: string,
  isWorthIt: (error: Error) => boolean = always,
): Promise<boolean> => {
  for (let attempt = 0; workerId === current(); attempt++) {
    try {
      await act()
      return true
    } catch (error) {
      if (!mayPass(error as Error)) problem(where)(error as Error)
      if (!isWorthIt(error as Error)) return false
    }
    await sleep(backoffMs(attempt, 20, 1000), stopping)
    await commands.whenReady(stopping)
    if (stopping.aborted) return false
  }
  return false
}

/** A full disk, which refuses releases too, is repaired in the end: given up, a request would be held for ever. */
export const mayPass = (error: Error): boolean => isTransient(error) || isFull(error)
const always = (_: Error): boolean => true

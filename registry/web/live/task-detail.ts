import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { taskInAddress } from '../../call-contract.ts'
import type { TaskDetail } from '../../contract.ts'
import { jsonText } from '../json/exact.ts'
import { type ApiFailure, request } from '../session/request.ts'
import { state, tasks } from './shown.ts'

export type DetailState =
  | { kind: 'reading' }
  /** The registry knows no such task; it is asked again all the same. */
  | { kind: 'unknown' }
  | { kind: 'failed'; message: string }
  | { kind: 'there'; detail: TaskDetail }

const refreshMs = 5000
/** A worker that has just started is in the registry within a moment: until then nothing is said. */
const patienceMs = 2000
const unknownMs = 250
/** The stream tells of a new task; without one the service is asked so often. */
const askAgainMs = 5000
const failedMs = 2000

/** All about one task, read again while the page is live. */
export const useTaskDetail = (task: string): DetailState => {
  const shown = useSignal<DetailState>({ kind: 'reading' })
  useEffect(() => {
    const abort = new AbortController()
    let timer: ReturnType<typeof setTimeout>
    const openedAt = performance.now()
    let isMissing = false
    let askedAt = Number.NEGATIVE_INFINITY
    const read = async () => {
      const isStill = state.value === 'paused' || state.value === 'hidden'
      if (isStill && shown.value.kind === 'there') return refreshMs
      if (!isWorthAsking(performance.now() - askedAt)) return unknown()
      askedAt = performance.now()
      try {
        const detail = await request<TaskDetail>(`tasks/${taskInAddress(task)}`, { signal: abort.signal })
        isMissing = false
        shown.value = { kind: 'there', detail: kept(shown.value, detail) }
        return refreshMs
      } catch (error) {
        if (abort.signal.aborted) return 0
        return missed(error as ApiFailure)
      }
    }
    const isWorthAsking = (agoMs: number) => !isMissing || agoMs > askAgainMs || tasks.value?.has(task) === true
    const unknown = () => {
      const isEarly = performance.now() - openedAt < patienceMs
      if (!isEarly || shown.value.kind === 'there') shown.value = { kind: 'unknown' }
      return unknownMs
    }
    const missed = ({ status, message }: ApiFailure) => {
      isMissing = status === 404
      if (isMissing) return unknown()
      // What was read stays while the connection is lost; the frame says so.
      if (shown.value.kind !== 'there') shown.value = { kind: 'failed', message }
      return failedMs
    }
    const round = async () => {
      const waitMs = await read()
      if (!abort.signal.aborted) timer = setTimeout(round, waitMs)
    }
    shown.value = { kind: 'reading' }
    void round()
    return () => {
      abort.abort()
      clearTimeout(timer)
    }
  }, [task])
  return shown.value
}

/** The new detail with the old one's parts where they are equal, so that a form is not made anew under somebody's hands. */
const kept = (before: DetailState, after: TaskDetail): TaskDetail => {
  if (before.kind !== 'there') return after
  const result = { ...after } as Record<string, unknown>
  const old = before.detail as unknown as Record<string, unknown>
  for (const key of Object.keys(result)) if (jsonText(old[key]) === jsonText(result[key])) result[key] = old[key]
  return result as unknown as TaskDetail
}

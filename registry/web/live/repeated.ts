import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { type ApiFailure, request } from '../session/request.ts'
import { state } from './shown.ts'

/** What was read last of something, and what became of the last try. */
export interface Repeated<T> {
  value: T | undefined
  /** Why there is nothing, or nothing new. */
  failure: ApiFailure | undefined
  /** Reads it now. */
  again(): void
}

/** Somebody who types changes what is asked with each letter. */
const typingMs = 200
const missingMs = 15_000
/** What somebody marks to copy it is not taken away for so long. */
const longestMarkedMs = 60_000

/** Rows that come, go or change places would end a selection. */
const isMarked = (): boolean => {
  const selection = getSelection()
  if (!selection || selection.isCollapsed) return false
  return document.getElementById('content')?.contains(selection.anchorNode) === true
}

/**
 * Reads something of the API, and again while the page is live. What was read of another path is not shown.
 * `everyMs`: from one answer to the next question.
 */
export const useRepeated = <T>(path: string, everyMs: number): Repeated<T> => {
  const shown = useSignal<{ path: string; value?: T; failure?: ApiFailure }>({ path })
  const wish = useSignal(0)
  const wished = wish.value
  useEffect(() => {
    const abort = new AbortController()
    let timer: ReturnType<typeof setTimeout>
    let readAt = Number.NEGATIVE_INFINITY
    const before = () => (shown.value.path === path ? shown.value : { path })
    const read = async () => {
      const isHeld = isMarked() && performance.now() - readAt < longestMarkedMs
      const isStill = state.value === 'paused' || state.value === 'hidden' || isHeld
      if (!isStill || before().value === undefined) {
        try {
          shown.value = { path, value: await request<T>(path, { signal: abort.signal }) }
          readAt = performance.now()
        } catch (error) {
          if (abort.signal.aborted) return
          shown.value = { ...before(), failure: error as ApiFailure }
        }
      }
      // What is not there is looked for in many places, and hardly comes.
      const isMissing = before().failure?.status === 404
      if (!abort.signal.aborted) timer = setTimeout(read, isMissing ? Math.max(missingMs, everyMs) : everyMs)
    }
    timer = setTimeout(read, shown.value.path === path ? 0 : typingMs)
    return () => {
      abort.abort()
      clearTimeout(timer)
    }
  }, [path, wished])
  const { value, failure } = shown.value.path === path ? shown.value : { value: undefined, failure: undefined }
  return { value, failure, again: () => wish.value++ }
}

/** What was read last, of whatever path, until the next answer: while somebody types, what was there stays. */
export const useLast = <T>({ value, failure }: Repeated<T>): T | undefined => {
  const last = useRef<T>(undefined)
  if (value !== undefined) last.current = value
  return value ?? (failure ? undefined : last.current)
}

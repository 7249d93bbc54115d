import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { type ApiFailure, requestAt } from '../session/request.ts'
import { tasks } from './shown.ts'

export type OpenApiState =
  | { kind: 'reading' }
  | { kind: 'failed'; message: string }
  | { kind: 'there'; document: unknown }

const failedMs = 5000

/** The OpenAPI document; read again when a task came or went. */
export const useOpenApi = (): OpenApiState => {
  const shown = useSignal<OpenApiState>({ kind: 'reading' })
  const served = [...(tasks.value?.values() ?? [])].flatMap(({ task, workers }) => (workers > 0 ? task : [])).join()
  const isKnown = tasks.value !== undefined
  useEffect(() => {
    if (!isKnown) return
    const abort = new AbortController()
    let timer: ReturnType<typeof setTimeout>
    const read = async (): Promise<void> => {
      try {
        shown.value = { kind: 'there', document: await requestAt('openapi.json', { signal: abort.signal }) }
      } catch (error) {
        if (abort.signal.aborted) return
        // What was read stays while the connection is lost; the frame says so.
        if (shown.value.kind !== 'there') shown.value = { kind: 'failed', message: (error as ApiFailure).message }
        timer = setTimeout(read, failedMs)
      }
    }
    void read()
    return () => {
      abort.abort()
      clearTimeout(timer)
    }
  }, [served, isKnown])
  return shown.value
}

import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { History } from '../../contract.ts'
import { request } from '../session/request.ts'
import { state } from './shown.ts'

export const ranges = ['15m', '1h', '1d', '30d'] as const
export type Range = (typeof ranges)[number]
export const rangeNames: Record<Range, string> = {
  '15m': 'Last 15 minutes',
  '1h': 'Last hour',
  '1d': 'Last day',
  '30d': 'Last 30 days',
}

/** As often as a chart has a new value worth a look. */
const refreshMs: Record<Range, number> = { '15m': 5000, '1h': 15_000, '1d': 30_000, '30d': 60_000 }

/** What charts show of everything, of one queue, or of one task; read again while the page is live. */
export const useHistory = (range: Range, of: { queue?: string; task?: string } = {}): History | undefined => {
  const { queue, task } = of
  const shown = useSignal<{ key: string; history: History } | undefined>(undefined)
  const key = JSON.stringify([range, queue, task])
  useEffect(() => {
    const query = new URLSearchParams({
      range,
      ...(queue === undefined ? {} : { queue }),
      ...(task === undefined ? {} : { task }),
    })
    const abort = new AbortController()
    const read = async () => {
      const isStill = state.value === 'paused' || state.value === 'hidden'
      if (isStill && shown.value?.key === key) return
      try {
        shown.value = { key, history: await request<History>(`history?${query}`, { signal: abort.signal }) }
      } catch {
        // The frame says that the connection is lost; what was read stays.
      }
    }
    void read()
    const timer = setInterval(read, refreshMs[range])
    return () => {
      clearInterval(timer)
      abort.abort()
    }
  }, [key])
  return shown.value?.key === key ? shown.value.history : undefined
}

import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { SearchAnswer } from '../../search-contract.ts'
import { request } from '../session/request.ts'

export interface Found {
  /** Of the text that was asked for last and answered; what is typed now may be another one. */
  answer: SearchAnswer | undefined
  problem: string | undefined
  /** What was answered. */
  text: string
}

/** Somebody who types on changes what is asked. */
const typingMs = 150
const nothing: Found = { answer: undefined, problem: undefined, text: '' }

/** What the service finds for a text. What was found stays until the next answer. */
export const useFound = (text: string): Found => {
  const found = useSignal<Found>(nothing)
  useEffect(() => {
    if (text === '') {
      found.value = nothing
      return
    }
    const abort = new AbortController()
    const timer = setTimeout(async () => {
      try {
        const path = `search?${new URLSearchParams({ text })}`
        const answer = await request<SearchAnswer>(path, { signal: abort.signal })
        found.value = { answer, problem: undefined, text }
      } catch (error) {
        if (!abort.signal.aborted) found.value = { answer: undefined, problem: (error as Error).message, text }
      }
    }, typingMs)
    return () => {
      clearTimeout(timer)
      abort.abort()
    }
  }, [text])
  return found.value
}

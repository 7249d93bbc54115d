import { useEffect, useRef, useState } from 'preact/hooks'
import { type Judged, withoutSecrets } from '../../../schema/secrets.ts'
import { isObject } from '../../../schema/steps.ts'
import { jsonText, readExact } from '../../json/exact.ts'
import { session } from '../../session/access.ts'
import { placeToKeep } from '../../session/kept.ts'

/** Keeping waits for a pause: a large value is not written again with every key. */
const pauseMs = 300

/** Arguments as they were left, without secrets. */
export interface Draft {
  value: unknown
  isWhole: boolean
}

/** The part of an address that holds arguments. */
const argsPart = (): string => {
  const parts = new URLSearchParams(location.hash.slice(1))
  return parts.get('args') ?? parts.get('packed') ?? ''
}

const readDraft = (text: string | undefined): Draft | undefined => {
  try {
    const kept: unknown = text === undefined ? undefined : readExact(text)
    if (!isObject(kept) || !Object.hasOwn(kept, 'value')) return undefined
    const now = argsPart()
    // Another link than the one that they began with says more than what was left.
    if (now !== '' && now !== kept.from) return undefined
    return { value: kept.value, isWhole: kept.isWhole === true }
  } catch {
    return undefined
  }
}

/** What was left in the form of a task in this tab, and what keeps what is in it now; nothing while it is as it starts. */
export const useDraft = (task: string, judged: Judged, start: unknown) => {
  const [{ place, draft }] = useState(() => {
    const place = placeToKeep(`args ${session.value?.namespace ?? ''} ${task}`)
    return { place, draft: readDraft(place.text) }
  })
  const waiting = useRef<{ write(): void; timer: ReturnType<typeof setTimeout> }>(undefined)
  const flush = (): void => {
    clearTimeout(waiting.current?.timer)
    waiting.current?.write()
    waiting.current = undefined
  }
  useEffect(() => {
    addEventListener('pagehide', flush)
    return () => {
      removeEventListener('pagehide', flush)
      flush()
    }
  }, [])
  const keep = (value: unknown): void => {
    clearTimeout(waiting.current?.timer)
    const write = () => place.keep(value === start ? undefined : textOf(judged, value))
    waiting.current = { write, timer: setTimeout(flush, pauseMs) }
  }
  return { draft, keep }
}

const textOf = (judged: Judged, args: unknown): string | undefined => {
  const { value, isWhole } = withoutSecrets(judged, args)
  return value === undefined ? undefined : jsonText({ value, isWhole, from: argsPart() })
}

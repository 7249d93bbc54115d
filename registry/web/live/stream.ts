import { computed, signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { LiveProblem, LiveReading, Topic } from '../../contract.ts'
import { at } from '../address/paths.ts'
import { access } from '../session/access.ts'
import { openSession } from '../session/login.ts'
import { ApiFailure, failureOf, send } from '../session/request.ts'
import { problem, state, take, turn } from './shown.ts'

export const isPaused = signal(false)
const wanted = signal<readonly Topic[]>([])
const query = computed(() => [...new Set(wanted.value)].sort().join(','))

/** Readings come every second; a stream that is silent for so long is dead, whatever the browser thinks of it. */
const silenceMs = 20_000
const firstRetryMs = 1000
const longestRetryMs = 10_000

let source: EventSource | undefined
let timer: ReturnType<typeof setTimeout> | undefined
let failures = 0

/** Opens the stream anew when what is wanted changes, and ends it while it is paused or nobody sees the page. */
const follow = (): void => {
  source?.close()
  source = undefined
  clearTimeout(timer)
  if (isPaused.value || document.hidden) {
    state.value = isPaused.value ? 'paused' : 'hidden'
    return
  }
  if (query.value === '' || access.value === 'out') return
  // A page opened after another goes on with what is shown; only the first time there is nothing yet.
  if (state.value !== 'live' && state.value !== 'lost' && state.value !== 'blind') state.value = 'connecting'
  open(new EventSource(at(`api/live?topics=${query.value}`)))
}

const open = (stream: EventSource): void => {
  source = stream
  const heard = () => {
    clearTimeout(timer)
    timer = setTimeout(() => lose(stream, `No data for ${silenceMs / 1000} s.`), silenceMs)
  }
  heard()
  stream.addEventListener('reading', event => {
    heard()
    failures = 0
    take(JSON.parse(event.data) as LiveReading)
  })
  stream.addEventListener('problem', event => {
    heard()
    state.value = 'blind'
    problem.value = (JSON.parse(event.data) as LiveProblem).message
  })
  stream.addEventListener('error', () => void lose(stream, 'The registry cannot be reached.'))
}

/**
 * A browser tries again by itself when a connection breaks, but gives up for good after an answer such as 401 or 503, and tells
 * neither apart. So every error ends the stream, the session says what is wrong, and the next try comes from here.
 */
const lose = async (stream: EventSource, why: string): Promise<void> => {
  stream.close()
  if (source !== stream) return
  source = undefined
  clearTimeout(timer)
  const waitMs = Math.min(longestRetryMs, firstRetryMs * 2 ** failures++) * (0.75 + Math.random() / 2)
  // One broken connection that is back at once is nobody's concern.
  if (failures > 1 || state.value === 'connecting') tellLost(why)
  await openSession()
  if (access.value === 'in' && failures > 1) tellLost((await whyRefused()) ?? why)
  if (source !== undefined || access.value === 'out' || state.value === 'paused' || state.value === 'hidden') return
  if (access.value === 'away') tellLost(why)
  timer = setTimeout(follow, failures === 1 && access.value === 'in' ? 100 : waitMs)
}

/** What the service says to a stream that it does not open; an EventSource keeps that to itself. */
const whyRefused = async (): Promise<string | undefined> => {
  const abort = new AbortController()
  try {
    const response = await send(`live?topics=${query.value}`, { signal: abort.signal })
    if (response.ok) return undefined
    return failureOf(response.status, await response.text()).message
  } catch (error) {
    return error instanceof ApiFailure ? error.message : undefined
  } finally {
    abort.abort()
  }
}

const tellLost = (why: string): void => {
  state.value = 'lost'
  problem.value = why
}

/** Tries again now. */
export const reconnect = (): void => {
  failures = 0
  follow()
}

/** For a page: what it shows of the live stream while it is open. */
export const useLive = (...names: Topic[]): void => {
  useEffect(() => {
    wanted.value = [...wanted.value, ...names]
    return () => {
      const left = [...wanted.value]
      for (const name of names) left.splice(left.indexOf(name), 1)
      wanted.value = left
    }
  }, [])
}

/** Starts following; the function that is returned ends it. */
export const startLive = (): (() => void) => {
  let before: string | undefined
  const check = () => {
    const now = `${query.value} ${isPaused.value} ${document.hidden} ${access.value === 'out'}`
    if (now === before) return
    before = now
    follow()
  }
  const later = () => queueMicrotask(check)
  const ends = [query.subscribe(later), isPaused.subscribe(later), access.subscribe(later)]
  document.addEventListener('visibilitychange', check)
  addEventListener('online', reconnect)
  const ticking = setInterval(() => {
    if (!document.hidden) turn.value++
  }, 1000)
  return () => {
    for (const end of ends) end()
    document.removeEventListener('visibilitychange', check)
    removeEventListener('online', reconnect)
    clearInterval(ticking)
    clearTimeout(timer)
    source?.close()
    source = undefined
  }
}

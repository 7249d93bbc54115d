import { computed, signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Delta, LiveProblem, LiveReading, QueueRow, Summary, TaskRow, Topic, WorkerRow } from '../contract.ts'
import { at } from './base.ts'

/** What the live stream last said. Rows are in the order of the registry. */
export const summary = signal<Summary | undefined>(undefined)
export const tasks = signal<ReadonlyMap<string, TaskRow> | undefined>(undefined)
export const workers = signal<ReadonlyMap<string, WorkerRow> | undefined>(undefined)
export const queues = signal<ReadonlyMap<string, QueueRow> | undefined>(undefined)

/** `lost`: the service cannot be reached; `blind`: it cannot read the registry, and says why in `problem`. */
export const state = signal<'connecting' | 'live' | 'paused' | 'lost' | 'blind'>('connecting')
export const problem = signal<string | undefined>(undefined)
/** This browser's clock when the last reading came; undefined before the first. */
export const receivedAtMs = signal<number | undefined>(undefined)
/** Redis' clock at the last reading. */
export const readAtMs = signal<number | undefined>(undefined)
/** What pages count ages from: Redis' clock now, as far as it is known here. */
export const redisNowMs = (): number =>
  (readAtMs.value ?? Date.now()) + (Date.now() - (receivedAtMs.value ?? Date.now()))

export const isPaused = signal(false)
const wanted = signal<readonly Topic[]>([])
const query = computed(() => [...new Set(wanted.value)].sort().join(','))

let source: EventSource | undefined

/** Opens the stream anew when what is wanted changes, and ends it while it is paused or nobody sees the page. */
const follow = (): void => {
  source?.close()
  source = undefined
  if (isPaused.value || document.hidden) {
    state.value = 'paused'
    return
  }
  if (query.value === '') return
  state.value = 'connecting'
  source = new EventSource(at(`api/live?topics=${query.value}`))
  source.addEventListener('reading', event => take(JSON.parse(event.data) as LiveReading))
  source.addEventListener('problem', event => {
    state.value = 'blind'
    problem.value = (JSON.parse(event.data) as LiveProblem).message
  })
  source.addEventListener('error', () => {
    state.value = 'lost'
  })
}

const take = (reading: LiveReading): void => {
  state.value = 'live'
  problem.value = undefined
  readAtMs.value = reading.atMs
  receivedAtMs.value = Date.now()
  if (reading.summary) summary.value = reading.summary
  if (reading.tasks) tasks.value = applied(tasks.value, reading.tasks, row => row.task)
  if (reading.workers) workers.value = applied(workers.value, reading.workers, row => row.id)
  if (reading.queues) queues.value = applied(queues.value, reading.queues, row => row.queue)
}

/** The same map when nothing changed, so that nothing is drawn again. */
const applied = <Row>(
  before: ReadonlyMap<string, Row> | undefined,
  { full, rows, gone }: Delta<Row>,
  keyOf: (row: Row) => string,
): ReadonlyMap<string, Row> => {
  if (before && !full && rows.length === 0 && gone.length === 0) return before
  const after = new Map(full ? [] : before)
  for (const key of gone) after.delete(key)
  for (const row of rows) after.set(keyOf(row), row)
  return after
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

/** Starts following; called once. */
export const startLive = (): void => {
  let before: string | undefined
  const check = () => {
    const now = `${query.value} ${isPaused.value} ${document.hidden}`
    if (now === before) return
    before = now
    follow()
  }
  query.subscribe(() => queueMicrotask(check))
  isPaused.subscribe(() => queueMicrotask(check))
  document.addEventListener('visibilitychange', check)
}

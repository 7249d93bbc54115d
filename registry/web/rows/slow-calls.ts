import type { SlowCallOverview } from 'pshub'
import { choiceOf, compare, sortOf } from '../address/query.ts'
import { hasWords, wordsOf } from '../text/words.ts'
import { pageOfRows, type RowsPage } from './page.ts'

/** Parts of the time of a call, in their order. */
export const phases = ['backlog', 'queue', 'exec'] as const
export type Phase = (typeof phases)[number]

export const phaseNames: Record<Phase, string> = { backlog: 'backlog', queue: 'queue', exec: 'run' }

export const slowColumns = ['ended', 'task', 'total', ...phases, 'loop'] as const
export type SlowColumn = (typeof slowColumns)[number]

/** What is shown of the slow calls, as an address says. */
export interface SlowView {
  task: string
  /** Only calls that spent most of their time in this. */
  phase: 'all' | Phase
  search: string
  sort: { column: SlowColumn; isDown: boolean }
  page: string | undefined
}

export const phaseChoices = ['all', ...phases] as const

export const slowView = (query: Readonly<Record<string, string>>): SlowView => ({
  task: query.task ?? '',
  phase: choiceOf(phaseChoices, query.phase),
  search: query.q ?? '',
  sort: sortOf(slowColumns, query.sort, '-total'),
  page: query.page,
})

/** In which phase a call spent most of its time; of equal ones the first. */
export const longestPhase = ({ us }: SlowCallOverview): Phase =>
  phases.reduce((longest, phase) => (us[phase] > us[longest] ? phase : longest))

/** A share of the whole time, 0 to 1. */
export const shareOf = (call: SlowCallOverview, phase: Phase): number =>
  call.totalUs > 0 ? call.us[phase] / call.totalUs : 0

export const slowPage = (calls: readonly SlowCallOverview[], view: SlowView): RowsPage<SlowCallOverview> => {
  const words = wordsOf(view.search)
  const found = calls.filter(
    call =>
      (view.task === '' || call.task === view.task) &&
      (view.phase === 'all' || longestPhase(call) === view.phase) &&
      (words.length === 0 || hasWords(textOf(call), words)),
  )
  const of = values[view.sort.column]
  found.sort((a, b) => compare(of(a), of(b), view.sort.isDown) || b.totalUs - a.totalUs)
  return pageOfRows(found, view.page)
}

const textOf = ({ task, id, code, from, worker, host, pid }: SlowCallOverview): string =>
  `${task} ${id} ${code ?? 'ok'} ${from ?? ''} ${worker} ${host} ${pid}`

const values: Record<SlowColumn, (call: SlowCallOverview) => string | number> = {
  ended: ({ at }) => at,
  task: ({ task }) => task,
  total: ({ totalUs }) => totalUs,
  backlog: ({ us }) => us.backlog,
  queue: ({ us }) => us.queue,
  exec: ({ us }) => us.exec,
  loop: ({ loopMs }) => loopMs,
}

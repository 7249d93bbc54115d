import type { SlowCallOverview } from 'pshub'
import { type CallPhase, callPhases } from '../../contract.ts'
import { choiceOf, compare, sortOf } from '../address/query.ts'
import { callsQuery } from './calls-query.ts'
import { pageOfRows, type RowsPage } from './page.ts'

export const phases = callPhases
export type Phase = CallPhase

export const phaseNames: Record<Phase, string> = { backlog: 'backlog', queue: 'queue', exec: 'run' }

const slowColumns = ['ended', 'task', 'total', ...phases, 'loop'] as const
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

/** The query that asks the service for them. */
export const slowQuery = ({ task, phase, search }: SlowView): string =>
  callsQuery({ task, phase: phase === 'all' ? '' : phase, text: search })

/** A share of the whole time, 0 to 1. */
export const shareOf = (call: SlowCallOverview, phase: Phase): number =>
  call.totalUs > 0 ? call.us[phase] / call.totalUs : 0

/** Their order and the page of them; the service chose them. */
export const slowPage = (calls: readonly SlowCallOverview[], view: SlowView): RowsPage<SlowCallOverview> => {
  const of = values[view.sort.column]
  const sorted = [...calls].sort((a, b) => compare(of(a), of(b), view.sort.isDown) || b.totalUs - a.totalUs)
  return pageOfRows(sorted, view.page)
}

const values: Record<SlowColumn, (call: SlowCallOverview) => string | number> = {
  ended: ({ at }) => at,
  task: ({ task }) => task,
  total: ({ totalUs }) => totalUs,
  backlog: ({ us }) => us.backlog,
  queue: ({ us }) => us.queue,
  exec: ({ us }) => us.exec,
  loop: ({ loopMs }) => loopMs,
}
